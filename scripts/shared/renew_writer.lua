-- Gives each writer that was an upgrade lease, and still has the lock, a full ttl, as exclusive/renew: owners[i] has locks[i]. `keys`
-- are all locks, then the readers of each: the sets that tell of the upgrades, which are deleted, since the clients know of them.
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
local lost = {}
for n, owner in ipairs(owners) do
  local holder = redis.pcall('GET', keys[n])
  if holder == owner then
    redis.call('PEXPIRE', keys[n], ttl_ms)
    redis.call('DEL', keys[#owners + n])
  else
    lost[#lost + 1] = holder and -n or n
  end
end
return lost
