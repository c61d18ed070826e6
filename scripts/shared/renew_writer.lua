-- Gives each writer that was an upgrade lease, and still has the lock, a full ttl, as exclusive/renew: owners[i] has locks[i]. `keys`
-- are all locks, then the readers of each: the sets that tell of the upgrades. The upgrade leases leave these, since the clients know of
-- them. The writers stay: while a slot is on its way, a cluster refuses scripts of whose keys some are missing.
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
local lost = {}
for n, owner in ipairs(owners) do
  local holder = redis.pcall('GET', keys[n])
  if holder == owner then
    redis.call('PEXPIRE', keys[n], ttl_ms)
    local readers = keys[#owners + n]
    local members = redis.pcall('ZRANGE', readers, '0', '-1')
    for _, member in ipairs(members) do
      if member ~= owner .. ':w' then redis.call('ZREM', readers, member) end
    end
    if members[1] then redis.call('PEXPIRE', readers, ttl_ms) end
  else
    lost[#lost + 1] = holder and -n or n
  end
end
return lost
