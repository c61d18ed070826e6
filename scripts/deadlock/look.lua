-- Looks at who keeps others out of a lock and waits itself, as say.lua has noted it, and changes nothing.
-- Reply: {the server's clock in microseconds, how it is held ("alone", "by readers", or "" if by nobody or otherwise), and for each
-- holder that waits: {owner, wait, number, wait, number...}}. Of readers the 100 that have it longest; of each one's waits eight, and
-- none whose text is long, since anybody who may use the lock may have put it there.
local lock = KEYS[1]
local readers = KEYS[2]
local blocked = KEYS[3]
-- @include micros
local answer = {micros(), ''}
local function add(owner)
  local key = blocked .. ':' .. owner
  if redis.call('TYPE', key).ok ~= 'zset' then return end
  local waits, of_holder = redis.call('ZRANGE', key, '0', '7', 'WITHSCORES'), {owner}
  for i = 1, #waits, 2 do
    if #waits[i] <= 4096 then
      of_holder[#of_holder + 1] = waits[i]
      of_holder[#of_holder + 1] = waits[i + 1]
    end
  end
  answer[#answer + 1] = of_holder
end
if redis.call('TYPE', lock).ok ~= 'string' then return answer end
local holder = redis.call('GETRANGE', lock, '0', '1023')
if holder ~= 'holdfast_readers' then
  -- A reader that has it for itself is the text of the key.
  answer[2] = string.sub(holder, 37, 37) == ':' and string.sub(holder, -2) == ':r' and 'by readers' or 'alone'
  add(holder)
  return answer
end
answer[2] = 'by readers'
if redis.call('TYPE', readers).ok ~= 'zset' then return answer end
local all = redis.call('ZRANGE', readers, '-100', '-1', 'WITHSCORES')
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) > answer[1] / 1000 then add(all[i]) end
end
return answer
