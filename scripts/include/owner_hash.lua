-- @leaves holder_of, found_by
-- A lock on Redisson's wire: a hash whose one field is its owner, with how often that one holds it. Ours hold it once.

-- The owner; nothing when it is free. The second result: the error to reply when the key is something else.
local function holder_of(lock)
  local fields = redis.pcall('HLEN', lock)
  if fields == 0 then return nil end
  if fields == 1 then return redis.call('HKEYS', lock)[1] end
  local found
  if type(fields) ~= 'table' then
    found = redis.call('HEXISTS', lock, 'mode') == 1 and 'a read-write lock' or 'a hash of ' .. fields .. ' fields'
  elseif string.find(fields.err, 'WRONGTYPE', 1, true) then
    found = 'a ' .. redis.call('TYPE', lock).ok
  else
    return nil, fields
  end
  return nil, redis.error_reply('MISFIT ' .. found .. ', not the hash of a lock of Redisson')
end

-- How `owner` finds it: 1 its own, 0 free, -1 somebody else's, or no lock.
local function found_by(owner, lock)
  if type(redis.pcall('HGET', lock, owner)) == 'string' then return 1 end
  return redis.call('EXISTS', lock) == 1 and -1 or 0
end
