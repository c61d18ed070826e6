-- Gives the lock back if nobody waits for it: no more than the common case needs.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's; 2 somebody waits, and nothing was done: see release.
local lock = KEYS[1]
local queue = KEYS[2]
local owner = ARGV[1]
-- @include release_unqueued
return 2
