-- Ends a wait: gives the lock back if it was granted meanwhile. All who wait hear each message, so there is no wake-up to
-- pass on.
-- Reply: 1 the lock was the caller's and is released; 0 it wasn't.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include owner_hash
-- @include tell
if found_by(owner, lock) ~= 1 then return 0 end
redis.call('HDEL', lock, owner)
tell(channel, '0')
return 1
