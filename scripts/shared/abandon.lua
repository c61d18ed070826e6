-- Ends a wait to read: the caller leaves the queue, and the lock if it was let in meanwhile, and passes on a wake-up that it was given
-- (it is not in the queue any more) and didn't use.
-- Reply: 1 it was in, and is out; 0 it wasn't.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include last_reader_out
local queued = redis.call('ZREM', queue, owner) == 1
local holder = redis.pcall('GET', lock)
if holder == owner then  -- as in release
  redis.call('DEL', lock)
  if type(redis.pcall('ZCARD', readers)) == 'number' then redis.call('DEL', readers) end  -- left from before
  pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
  return 1
end
if holder ~= 'holdfast_readers' or redis.call('ZREM', readers, owner) == 0 then
  if not queued and not holder then wake_next(lock, counter, queue, starvation_us, grant_ms) end
  return 0
end
after_reader(lock, counter, queue, readers, owner, starvation_us, grant_ms)
return 1
