-- Lets a reader in: if the lock is free, if others read, or if the caller writes. `life` is the key of its one hold. Who is in
-- already (a request sent again) stays in, with one hold.
-- Effects when granted: the owner's field, and its `life` and the lock with the ttl, or the longer one that they have.
-- Reply: granted, {0, tokens}; busy, see rw_busy; an error MISFIT when the key is something else.
local lock = KEYS[1]
local life = KEYS[2]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
-- @include rw_look
-- @include rw_busy
-- @include prolong
local mode, left, misfit = rw_look(lock)
if misfit then return misfit end
if mode == 'write' and redis.call('HEXISTS', lock, owner .. ':write') == 0 then return rw_busy(lock, left) end
local new = redis.call('HSETNX', lock, owner, '1') == 1
if not mode then redis.call('HSET', lock, 'mode', 'read') end
if new or redis.call('EXISTS', life) == 0 then
  redis.call('SET', life, '1', 'PX', ttl_ms)
else
  prolong(life, ttl_ms)
end
if left < tonumber(ttl_ms) then redis.call('PEXPIRE', lock, ttl_ms) end
return {0, tonumber(tokens)}
