-- Gives several locks back, and tells the next waiter of each. Those that are still the caller's go back even if others
-- are lost.
-- Reply: 1 released; 0 one of them (the first that was lost) was gone; -1 it is somebody else's.
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
-- @include give_all_back
return give_all_back(several(keys, owner), starvation_us, grant_ms)
