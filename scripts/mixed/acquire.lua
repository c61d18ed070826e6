-- Takes several names of mixed kinds, all or none: those to write and to read, and permits. If each is free, or the caller's already;
-- a name to read also if others read it, and nobody waits to write; permits if so many are left, and nobody waits who came earlier.
-- Otherwise, with `mode` "join", waits in the queue of the first busy one; with "ask" it doesn't. See take_all; `kinds`: see mixed_names.
-- Effects when granted: each name is the caller's as by the script of its own kind, each counter at the same last token, the caller in no
-- queue.
-- Reply: granted, {first token, how many}; busy, as by the script of its kind about the first busy one; an error "WRONGTYPE <type>
-- <name>" when a key is not a lock, "MISFIT … IN <name>" when it is not the permits of a semaphore, "WRONGTYPE beside <name>" when a key
-- beside one is something else.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local starvation_us = ARGV[6]
local grant_ms = ARGV[7]
local publish = ARGV[8]
local kinds = {unpack(ARGV, 9)}
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- @include last_reader_out
-- @include readers_in_order
-- @include enter_readers
-- @include permits_of_any
-- @include permits
-- @include ask_permits
-- @include writing_ends
-- @include writing_begins
-- @include reading_ends
-- @include reading_begins
-- @include counting_ends
-- @include counting_begins
-- @include mixed_names
-- @include look_at_all
-- @include take_all
local names = mixed_names(keys, kinds, owner)
local spoilt = look_at_all(names)
if spoilt then return spoilt end
local taken, busy = take_all(names, {ttl_ms = ttl_ms, tokens = tokens, mode = mode, ticket = ticket,
                                     starvation_us = starvation_us, grant_ms = grant_ms})
return taken or busy
