-- Ends a wait: the caller leaves the queue, with `credit_ms` off the score of all behind it, and gives the lock back if it was
-- granted meanwhile. If the lock is free, the first waiter is told: perhaps it was the caller who had been.
-- Reply: 1 the lock was the caller's and is released; 0 it wasn't.
local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local owner = ARGV[1]
local credit_ms = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
-- @include micros
-- @include owner_hash
-- @include tell
-- @include redisson_fair_queue
local function leave()
  local behind = false
  for _, one in ipairs(redis.call('LRANGE', queue, '0', '-1')) do
    if one == owner then
      behind = true
    elseif behind and redis.call('ZSCORE', timeouts, one) then
      redis.call('ZINCRBY', timeouts, -credit_ms, one)
    end
  end
  redis.call('ZREM', timeouts, owner)
  redis.call('LREM', queue, '0', owner)
end
local held = found_by(owner, lock) == 1
if held then redis.call('HDEL', lock, owner) end
-- Should the queue be spoilt, the lock is free all the same; the waiters find out by themselves.
pcall(leave)
if redis.call('EXISTS', lock) == 0 then
  local fine, head = pcall(drop_dead, queue, timeouts)
  if fine then tell_head(head, channel) end
end
return held and 1 or 0
