-- Turns the one who writes into one who reads, or has the upgrade lease, with a full ttl, and lets the readers in that wait at the head of the queue. Nobody
-- writes in between.
-- Reply: 1 it reads, or did already (a request sent again); 0 the lock, or its time to read, is over; -1 others have the lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local writer = ARGV[1]
local reader = ARGV[2]
local ttl_ms = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
local holder = redis.pcall('GET', lock)
local ends_ms = string.format('%.0f', math.floor(micros() / 1000) + ttl_ms)
if holder == 'holdfast_readers' then
  if not redis.call('ZSCORE', readers, reader) then return 0 end
  redis.call('PEXPIRE', readers, ttl_ms)  -- so that ZADD isn't refused at maxmemory: see renew
  redis.call('ZADD', readers, ends_ms, reader)
  settle(lock, readers)
  return 1
end
if holder ~= writer then return holder and -1 or 0 end
redis.call('ZCARD', readers)  -- before anything is written: another kind of key ends the script here
redis.call('DEL', readers)
redis.call('ZADD', readers, ends_ms, reader)
redis.call('SET', lock, 'holdfast_readers', 'PX', ttl_ms)
redis.call('PEXPIRE', readers, ttl_ms)
-- Should a side key be spoilt, those who wait find out by themselves.
if redis.call('EXISTS', queue) == 1 then pcall(let_readers_in, lock, counter, queue, grant_ms) end
return 1
