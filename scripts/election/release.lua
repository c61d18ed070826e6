-- The leader resigns: gives the lock back, takes its value away, and tells the next waiter, or the candidate that it has named.
-- Effects when it is the caller's: as those of exclusive/release; the hash `leader` is gone; a message to those who observe.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local leader = KEYS[4]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include tell_observers
-- @include step_down
step_down(lock, queue, leader, owner)
-- @include release_exclusive
