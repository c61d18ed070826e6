-- Deletes a lock of Redisson's under its holder, however often that holds it, if it still is `owner`'s. Then who waits is told:
-- those on the lock's channel, and of a fair lock the first in the queue that hasn't died, on a channel of its own.
-- Reply: 1 deleted; 0 the key was gone; -1 it holds something else.
local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include micros
-- @include tell
local function first_alive()
  while true do
    local first = redis.call('LINDEX', queue, '0')
    local score = first and redis.call('ZSCORE', timeouts, first)
    if not score or tonumber(score) > micros() / 1000 then return first end
    redis.call('ZREM', timeouts, first)
    redis.call('LPOP', queue)
  end
end
local kind = redis.call('TYPE', lock).ok
if kind == 'none' then return 0 end
if kind ~= 'hash' or redis.call('HLEN', lock) ~= 1 or redis.call('HEXISTS', lock, owner) == 0 then return -1 end
redis.call('DEL', lock)
-- Should the queue be spoilt, or the right to publish be missing, the lock is free all the same; the waiters find out by
-- themselves.
tell(channel, '0')
local fine, first = pcall(first_alive)
if fine and first then tell(channel .. ':' .. first, '0') end
return 1
