-- Turns the one who writes into one who reads, with a full ttl. Tells all who wait, so that other readers come in; Redisson doesn't,
-- and its readers wait for the end of the ttl.
-- Reply: 1 it reads, or did already (a request sent again); 0 the lock was gone; -1 others have it, or its time to read is over.
local lock = KEYS[1]
local life = KEYS[2]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
-- @include rw_look
-- @include prolong
-- @include tell
local mode, _, misfit = rw_look(lock)
if misfit then return -1 end
if not mode then return 0 end
if mode == 'write' then
  if redis.call('HDEL', lock, owner .. ':write') == 0 then return -1 end
  redis.call('HSET', lock, 'mode', 'read', owner, '1')
  redis.call('SET', life, '1', 'PX', ttl_ms)
  prolong(lock, ttl_ms)
  tell(channel, '1')
  return 1
end
if redis.call('HEXISTS', lock, owner) == 0 or redis.call('EXISTS', life) == 0 then return -1 end
prolong(life, ttl_ms)
prolong(lock, ttl_ms)
return 1
