-- Ends a wait, to read or to write: takes the caller out if it was let in meanwhile, and tells the others then. Also after a
-- downgrade of which nobody knows whether it was made.
-- Reply: 1 it was in; 0 it wasn't.
local lock = KEYS[1]
local life = KEYS[2]
local owner = ARGV[1]
local lives = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
-- @include rw_look
-- @include tell
-- @include rw_settle
local mode = rw_look(lock)
redis.call('DEL', life)
if not mode or redis.call('HDEL', lock, owner, owner .. ':write') == 0 then return 0 end
if mode == 'write' then
  redis.call('DEL', lock)  -- nobody is in with one who writes
  tell(channel, '1')
else
  rw_settle(lock, mode, lives, channel)
end
return 1
