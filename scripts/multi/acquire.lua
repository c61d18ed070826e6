-- Takes several locks, all or none: if each is free, or the caller's already. Otherwise, with `mode` "join", waits in the queue
-- of the first busy one; with "ask", changes nothing. See take_all.
-- Effects when granted: each lock key with its ttl, each counter at the same last token, the caller in no queue.
-- Reply: granted, {first token, how many}; busy, see busy_reply, about the first busy one; an error "WRONGTYPE <type> <name>"
-- when a key is not a lock, "WRONGTYPE beside <name>" when a key beside one is something else.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local starvation_us = ARGV[6]
local grant_ms = ARGV[7]
local publish = ARGV[8]
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- @include writing_ends
-- @include writing_begins
-- @include several
-- @include look_at_all
-- @include take_all
local names = several(keys, owner)
local spoilt = look_at_all(names)
if spoilt then return spoilt end
local taken, busy = take_all(names, {ttl_ms = ttl_ms, tokens = tokens, mode = mode, ticket = ticket,
                                     starvation_us = starvation_us, grant_ms = grant_ms})
return taken or busy
