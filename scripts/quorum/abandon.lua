-- Ends a wait at one of several masters: exclusive/abandon, but the vote is kept for the next waiter without tokens, as quorum/release
-- keeps it.
-- Reply: 1 the vote was the caller's and is given back; 0 it wasn't.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include no_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include back_to_upgrade
-- @include abandon_exclusive
