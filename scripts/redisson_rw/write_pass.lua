-- Gives the lock back while another caller of the same process waits to write (`next`): one request for both. All who wait are
-- told, and if that is nobody but `own` subscriptions of the caller, `next` has it.
-- Reply: {0} the lock was gone, {-1} others have it (in both cases nothing was done for `next`); {1, 0, tokens} `next` writes;
-- {1} it was given back, and `next` has to ask.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local next = ARGV[4]
local ttl_ms = ARGV[5]
local tokens = ARGV[6]
local own = ARGV[7]
-- @include rw_look
-- @include tell
local mode, left, misfit = rw_look(lock)
if misfit or mode == 'read' then return {-1} end
if not mode then return {0} end
local field = next .. ':write'
if redis.call('HEXISTS', lock, field) == 1 then
  if left < tonumber(ttl_ms) then redis.call('PEXPIRE', lock, ttl_ms) end
  return {1, 0, tonumber(tokens)}
end
if redis.call('HDEL', lock, owner .. ':write') == 0 then return {-1} end
if redis.call('HLEN', lock) > 1 then
  redis.call('HSET', lock, 'mode', 'read')
  tell(channel, '1')
  return {1}
end
redis.call('DEL', lock)
local heard = tell(channel, '1')
if not heard or heard > tonumber(own) then return {1} end
redis.call('HSET', lock, 'mode', 'write', field, '1')
redis.call('PEXPIRE', lock, ttl_ms)
return {1, 0, tonumber(tokens)}
