-- Ends a wait: the caller leaves the queue, gives the lock back if it was granted meanwhile, and passes on a wake-up that
-- it was given (it is not in the queue any more) and didn't use.
-- Reply: 1 the lock was the caller's and is released; 0 it wasn't.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include back_to_upgrade
-- @include abandon_exclusive
