-- Gives the vote of one of several masters back, and keeps it for the next waiter: exclusive/release, but what is kept has no tokens,
-- which come with the waiter's ask, behind the newest one that it has seen. So the vote isn't split again at each turn.
-- Effects when it is the caller's: the key is gone, or belongs for `grant_ms` to the first waiter that can be reached, if that one
-- has waited for `starvation_us` (0: in any case); one message to its inbox.
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
-- @include no_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include release_exclusive
