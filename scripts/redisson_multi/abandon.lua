-- Ends a wait for several locks: gives those back that are the caller's, and tells who waits for them.
-- Reply: 1 some were, and are released; 0 none was.
local locks = {unpack(KEYS)}
local owner = ARGV[1]
local publish = ARGV[2]
local channels = {unpack(ARGV, 3)}
-- @include owner_hash
-- @include tell
-- @include give_back_hashes
local _, given = give_back(locks, owner, channels)
return given > 0 and 1 or 0
