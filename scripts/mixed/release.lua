-- Gives several names of mixed kinds back, and tells the next waiters of each, as the script of its own kind does. Those that still are
-- the caller's go back even if others are lost. `kinds`: see mixed_names.
-- Reply: 1 released; 0 one of them (the first that was lost) was gone; -1 others have it, or the key is something else.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
local kinds = {unpack(ARGV, 5)}
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include last_reader_out
-- @include permits_of_any
-- @include permits
-- @include writing_ends
-- @include reading_ends
-- @include counting_ends
-- @include mixed_names
-- @include give_all_back
return give_all_back(mixed_names(keys, kinds, owner), starvation_us, grant_ms)
