-- The vote of one of several masters: exclusive/acquire, but for the tokens, which follow the newest one that this master has,
-- or the caller has seen (`newest`).
-- Effects when granted: the lock key with its ttl, `tokens` fencing tokens taken, the caller out of the queue.
-- Reply: granted, {first token, how many}; busy, see busy_reply, the second and third -1 and 0 for "ask"; an error WRONGTYPE that
-- names the type when the key is not a lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local newest = ARGV[6]
-- @include micros
-- @include count_on
-- @include join_queue
-- @include busy_reply
-- @include take_exclusive
return {count_on(counter, last, newest, tokens)}
