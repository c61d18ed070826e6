-- Gives each lock that its owner still writes a full ttl, or leaves it the longer one that it has: owners[i] writes locks[i].
-- Reply: the places (from 1) of those that are lost: n when the lock is gone, -n when others have it.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
-- @include rw_raise
local lost = {}
for n, lock in ipairs(locks) do
  if redis.pcall('HEXISTS', lock, owners[n] .. ':write') == 1 then
    rw_raise(lock, ttl_ms)
  else
    lost[#lost + 1] = redis.call('EXISTS', lock) == 1 and -n or n
  end
end
return lost
