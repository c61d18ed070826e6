-- Gives several locks back, and only then tells those who wait for each: channels[i] is that of locks[i]; none tells nobody.
-- Those that are still the caller's go back even if others are lost.
-- Reply: 1 released; 0 one of them (the first that was lost) was gone; -1 it is somebody else's.
local locks = {unpack(KEYS)}
local owner = ARGV[1]
local publish = ARGV[2]
local channels = {unpack(ARGV, 3)}
-- @include owner_hash
-- @include tell
-- @include give_back_hashes
return (give_back(locks, owner, channels))
