-- Ends a wait for several locks: see abandon_all.
-- Reply: 1 some of the locks were the caller's and are released; 0 none was.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include writing_ends
-- @include several
-- @include back_to_upgrade
-- @include abandon_all
return abandon_all(several(keys, owner), starvation_us, grant_ms)
