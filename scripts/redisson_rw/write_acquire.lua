-- Takes the lock to write, if it is free or the caller writes already (a request sent again): then with one hold, and with the
-- ttl, or the longer one that it has.
-- Reply: granted, {0, tokens}; busy, see rw_busy, also to a reader who asks to write; an error MISFIT when the key is something
-- else.
local lock = KEYS[1]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
-- @include rw_look
-- @include rw_busy
local mode, left, misfit = rw_look(lock)
if misfit then return misfit end
local field = owner .. ':write'
if not mode then
  redis.call('HSET', lock, 'mode', 'write', field, '1')
elseif mode == 'read' or redis.call('HEXISTS', lock, field) == 0 then
  return rw_busy(lock, left)
end
redis.call('PEXPIRE', lock, math.max(left, ttl_ms))  -- always: see prolong
return {0, tonumber(tokens)}
