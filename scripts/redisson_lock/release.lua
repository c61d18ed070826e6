-- Gives the lock back, however often it says that it is held, and tells all who wait on `channel`; '' tells nobody.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include tell
-- The common case first, before more functions are defined: each costs the server a fraction of a command.
if redis.pcall('HDEL', lock, owner) == 1 then
  tell(channel, '0')
  return 1
end
-- @include owner_hash
return found_by(owner, lock)
