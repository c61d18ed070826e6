-- Gives the lock back, however often it says that it is held, and tells all who wait on `channel`; '' tells nobody.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- The common case first, before functions are defined: each costs the server a fraction of a command.
local given = redis.pcall('HDEL', lock, owner) == 1
if given and publish == 'PUBLISH' and channel ~= '' then
  redis.pcall(publish, channel, '0')
  return 1
end
-- @include tell
-- @include owner_hash
if not given then return found_by(owner, lock) end
tell(channel, '0')
return 1
