-- Gives back what an upgrade lease became: exclusive/release, and the set that tells of the upgrade goes with it.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
if redis.pcall('GET', lock) == owner then redis.call('DEL', readers) end
-- @include release_exclusive
