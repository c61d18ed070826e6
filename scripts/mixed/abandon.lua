-- Ends a wait for several names of mixed kinds: see abandon_all. `kinds`: see mixed_names.
-- Reply: 1 some of them were the caller's and are released; 0 none was.
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
-- @include back_to_upgrade
-- @include abandon_all
return abandon_all(mixed_names(keys, kinds, owner), starvation_us, grant_ms)
