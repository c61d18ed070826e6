-- @leaves last_run
-- What a record says of the last run, as a list of fields and values, and the owner id of who ran. Without a record: an empty list
-- and ''.
local function last_run(record)
  if redis.call('TYPE', record).ok ~= 'hash' then return {}, '' end
  local fields = redis.call('HGETALL', record)
  for i = 1, #fields, 2 do
    if fields[i] == 'owner' then return fields, fields[i + 1] end
  end
  return fields, ''
end
