-- Lets a reader out. The lock's ttl is then that of the longest hold of the others; the last one out frees it, and tells one
-- waiter of each process. Also told, as Redisson has it, when the lock was gone already.
-- Reply: 1 it was in; 0 the lock was gone; -1 others have it.
local lock = KEYS[1]
local life = KEYS[2]
local owner = ARGV[1]
local lives = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
-- @include rw_look
-- @include tell
-- @include rw_settle
local mode, _, misfit = rw_look(lock)
redis.call('DEL', life)
if misfit then return -1 end
if not mode then
  tell(channel, '0')
  return 0
end
if redis.call('HDEL', lock, owner) == 0 then return -1 end
rw_settle(lock, mode, lives, channel)
return 1
