-- Begins to wait on the condition of a lock that the caller holds, and gives the lock back as a release does: whoever has it next finds
-- the caller waiting, under the same owner id.
-- Reply: 1 it waits, by this copy of the request or an earlier one; 0 the lock was gone; -1 it is somebody else's.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local waiting = KEYS[4]
local counting = KEYS[5]
local owner = ARGV[1]
local credit_ms = ARGV[2]
local starvation_us = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include condition
-- Before anything is written: side keys of another kind end the script here.
local last = redis.call('ZRANGE', waiting, '-1', '-1', 'WITHSCORES')[2]
if redis.call('ZSCORE', counting, owner) then return 1 end
local holder = redis.pcall('GET', lock)
if holder ~= owner then return holder and -1 or 0 end
local since = micros()
if last and since <= tonumber(last) then since = last + 1 end
redis.call('ZADD', waiting, string.format('%.0f', since + since % 2), owner)
redis.call('ZADD', counting, string.format('%.0f', now_ms() + credit_ms), owner)
for _, key in ipairs({waiting, counting}) do redis.call('PEXPIRE', key, math.max(60000, credit_ms)) end
-- As in release_exclusive.
local fine, outcome = pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
if not fine or outcome ~= 'granted' then redis.call('DEL', lock) end
return 1
