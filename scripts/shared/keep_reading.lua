-- Turns the upgrade lease into one of the other readers, with a full ttl, and lets those in that wait at the head of the queue, the
-- next one for the upgrade lease among them. If a try to upgrade that its client has given up has the lock in its place, the readers
-- have it again.
-- Reply: 1 it reads, or did already (a request sent again); 0 its hold, or the lock, is gone; -1 others have the lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local upgrade = ARGV[1]
local reader = ARGV[2]
local ttl_ms = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include back_to_upgrade
local held = redis.call('ZSCORE', readers, upgrade)
local ends = held or redis.call('ZSCORE', readers, reader)
local now_ms = math.floor(micros() / 1000)
local in_time = ends and tonumber(ends) > now_ms
local holder = redis.pcall('GET', lock)
local own = held and type(holder) == 'string' and string.sub(holder, 1, 37) == string.sub(upgrade, 1, 37)
if own and in_time and back_to_upgrade(lock, counter, queue, holder, holder) then holder = 'holdfast_readers' end
if holder ~= 'holdfast_readers' then return holder and -1 or 0 end
if not in_time then return 0 end
redis.call('PEXPIRE', readers, ttl_ms)  -- so that ZADD isn't refused at maxmemory: see renew
redis.call('ZADD', readers, string.format('%.0f', now_ms + ttl_ms), reader)
redis.call('ZREM', readers, upgrade)
settle(lock, readers)
-- Should a side key be spoilt, those who wait find out by themselves.
if redis.call('EXISTS', queue) == 1 then pcall(let_readers_in, lock, counter, queue, grant_ms) end
return 1
