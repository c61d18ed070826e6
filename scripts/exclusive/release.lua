-- Gives the lock back and tells the next waiter.
-- Effects when it is the caller's: the key is gone, or belongs to the first waiter if that one has waited for
-- `starvation_us`; one message to one inbox if anybody waits.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include release_unqueued
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include release_exclusive
