-- Takes the lock if it is free, or is the caller's already (a request sent again, or a grant whose message it missed).
-- Otherwise, with `mode` "join", joins the queue; with "ask", changes nothing.
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
-- @include take_unqueued
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include busy_reply
-- @include take_exclusive
return {take_tokens(counter, last, tokens)}
