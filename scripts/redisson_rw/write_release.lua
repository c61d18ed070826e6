-- Ends the writing: the lock is free, or, if the writer reads too, open for readers. Tells all who wait; also, as Redisson has it,
-- when the lock was gone already.
-- Reply: 1 it was the caller's; 0 the lock was gone; -1 others have it.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include rw_look
-- @include tell
local mode, _, misfit = rw_look(lock)
if misfit or mode == 'read' then return -1 end
if mode then
  if redis.call('HDEL', lock, owner .. ':write') == 0 then return -1 end
  if redis.call('HLEN', lock) == 1 then redis.call('DEL', lock) else redis.call('HSET', lock, 'mode', 'read') end
end
tell(channel, '1')
return mode and 1 or 0
