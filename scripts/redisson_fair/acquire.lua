-- Redisson's RFairLock. Takes the lock if it is free and nobody waits, or the caller waits longest; or if it is the caller's
-- already. Otherwise, with `mode` "join", the caller waits in the queue; with "ask" it doesn't. Before, those at the head of the
-- queue that count as dead are taken out; if the lock is free and that wasn't known to the next one, it is told.
-- Effects when granted: the hash with the owner, and its ttl; the caller out of the queue, and `credit_ms` off the score of
-- all who were behind it.
-- Reply: granted, {0, `handoffs`}; busy, {pttl, callers ahead in the queue, 0, 0, owner, -1}, the second -1 for "ask"; without a
-- holder (it is the turn of another) a pttl of 100, since that one may be dead; an error MISFIT that says what a key holds instead.
local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local handoffs = ARGV[3]
local mode = ARGV[4]
local credit_ms = ARGV[5]
local publish = ARGV[6]
local channel = ARGV[7]
-- @include micros
-- @include owner_hash
-- @include prolong
-- @include hold_hash
-- @include misfit_beside
-- @include tell
-- @include redisson_fair_queue
-- @include redisson_fair_join
local holder, misfit = holder_of(lock)
misfit = misfit or misfit_beside(queue, 'list', 'the queue of a fair lock of Redisson') or
             misfit_beside(timeouts, 'zset', 'the time-outs of a fair lock of Redisson')
if misfit then return misfit end
local head, dropped = drop_dead(queue, timeouts)
if holder == owner then
  prolong(lock, ttl_ms)
  return {0, tonumber(handoffs)}
end
if not holder and (not head or head == owner) then
  if head then
    redis.call('LPOP', queue)
    redis.call('ZREM', timeouts, owner)
    for _, other in ipairs(redis.call('ZRANGE', timeouts, '0', '-1')) do
      redis.call('ZINCRBY', timeouts, -credit_ms, other)
    end
  end
  hold(lock, owner, ttl_ms)
  return {0, tonumber(handoffs)}
end
if not holder and dropped then tell_head(head, channel) end
local left_ms = holder and redis.call('PTTL', lock) or 0
local ahead = mode == 'join' and queue_up(queue, timeouts, owner, left_ms, credit_ms) or -1
return {holder and left_ms or 100, ahead, 0, 0, holder or '', -1}
