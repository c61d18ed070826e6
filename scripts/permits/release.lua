-- Gives all permits of one owner back, and those that are left to the first in the queue. Of one without a lease that is by force: it
-- may be alive, and give them back, too, or send its request again, so for a day it is noted how many they were.
-- Reply: 1 it had some; 0 it had none (any more); -1 the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
-- @include lasting
local by_force = is_lasting(owner)
-- Nobody waits: here, before the functions are made, which cost more.
local first = redis.pcall('ZRANGE', lock, '0', '2')
-- An owner that is the text of the key: see as_set.
local alone = first.err and string.match(tostring(redis.pcall('GET', lock)), '^holdfast_permit %d+ (.+)$')
if alone and alone ~= owner then return 0 end
if first.err and not alone then return -1 end
if not alone and not first[1] then return 0 end
if not alone and not string.match(first[1], '^holdfast_permits:%d+$') then return -1 end
if not by_force and redis.call('EXISTS', queue) == 0 then
  if alone then return redis.call('DEL', lock) end
  if first[2] == owner and not first[3] then return redis.call('DEL', lock) end
  if not redis.call('ZSCORE', lock, owner .. ':p') then
    if redis.call('ZREM', lock, owner) == 0 then return 0 end
    redis.call('ZADD', lock, 'INCR', '1', first[1])
    return 1
  end
end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include permits
-- @include end_with_last
-- @include abandoned
look(0)
local had = weight_in(lock, owner)
if not take_out(owner) then return 0 end
if abandoned then redis.pcall('SET', abandoned, 'forced ' .. had, 'PX', '86400000') end
drop_expired()
-- Should a side key be spoilt, the permits are left all the same; the waiters find out by themselves.
pcall(let_in, grant_ms)
if by_force then end_with_last() end
end_empty()
return 1
