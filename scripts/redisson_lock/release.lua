-- Gives the lock back, however often it says that it is held, and tells all who wait on `channel`; '' tells nobody.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local owner = ARGV[1]
local channel = ARGV[2]
-- @include owner_hash
-- @include tell
local found = found_by(owner, lock)
if found == 1 then
  redis.call('HDEL', lock, owner)
  tell(channel, '0')
end
return found
