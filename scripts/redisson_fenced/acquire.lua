-- Redisson's RFencedLock: as the RLock of the same name, with fencing tokens. A request sent again takes new ones: they only
-- have to grow.
-- Effects when granted: the hash with the owner, and its ttl; `tokens` taken from the counter.
-- Reply: granted, {first token, how many}; busy, {pttl, -1, 0, 0, owner, -1}; an error MISFIT that says what a key holds instead.
local lock = KEYS[1]
local counter = KEYS[2]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
-- @include owner_hash
-- @include prolong
-- @include hold_hash
-- @include take_hash
-- @include count_tokens
local refused = misfit_of_counter(counter) or take(lock, owner, ttl_ms)
if refused then return refused end
return {count_tokens(counter, tokens)}
