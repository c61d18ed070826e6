-- Lets a reader out. The last one out gives the lock to the next waiter.
-- Effects when it was in: the lock's ttl is that of the longest hold that is left. Without any the key is gone, or belongs to the
-- first waiter if that one has waited for `starvation_us`; one message to one inbox if anybody waits.
-- Reply: 1 it was in; 0 its hold, or the lock, was gone; -1 somebody writes.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
local holder = redis.pcall('GET', lock)
-- It has the lock for itself: see as_readers.
local alone = holder == owner
if alone and redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lock) end
if not alone and holder ~= 'holdfast_readers' then
  -- An upgrade lease whose writer has the lock in its place, as long as the writer's client doesn't know that: see stay.
  if type(holder) == 'string' and string.sub(owner, -2) == ':u' and type(redis.pcall('ZSCORE', readers, holder .. ':w')) == 'string' then
    return redis.call('ZREM', readers, owner)
  end
  return holder and -1 or 0
end
if not alone and redis.call('ZREM', readers, owner) == 0 then return 0 end
-- Nobody waits: here, before the functions are made, which cost more. The lock of others that read ends with the last of them.
local there = alone and 2 or redis.call('EXISTS', readers, queue)
if there == 0 then return redis.call('DEL', lock) end
local longest = there == 1 and redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')[2]
if longest then
  local time = redis.call('TIME')
  local left_ms = longest - time[1] * 1000 - math.floor(time[2] / 1000)
  if left_ms > 0 then
    redis.call('PEXPIRE', lock, left_ms)
    redis.call('PEXPIRE', readers, left_ms)
    return 1
  end
end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
if alone then
  -- Should a side key be spoilt, the lock is free all the same; the waiters find out by themselves.
  redis.call('DEL', lock)
  if type(redis.pcall('ZCARD', readers)) == 'number' then redis.call('DEL', readers) end  -- left from before
  pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
  return 1
end
-- @include last_reader_out
after_reader(lock, counter, queue, readers, owner, starvation_us, grant_ms)
return 1
