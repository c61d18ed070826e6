-- Ends a wait. A waiter that was notified, and hasn't heard of it, hears it now from the reply; with `why` "passes_on" the next one is
-- notified in its place, and with "may_be_told" also if a reply has told it, which came too late or was lost. With "will_ask" nothing
-- is changed: a request with "asks" follows.
-- Reply: 0 it waited until now; 1 it didn't wait any more, or this is the second copy of the request.
local lock = KEYS[1]
local queue = KEYS[2]
local waiting = KEYS[3]
local counting = KEYS[4]
local owner = ARGV[1]
local why = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include to_inbox
-- @include condition
if why == 'will_ask' then return redis.call('ZSCORE', waiting, owner) and 0 or 1 end
local waited = redis.call('ZREM', waiting, owner) == 1
local counted = redis.call('ZREM', counting, owner) == 1
if waited then return 0 end
if why == 'may_be_told' or (counted and why == 'passes_on') then notify_first() end
return 1
