-- Gives each lock that still is its leader's a full ttl, and what is said of that leader: owners[i] leads by locks[i]; `keys` are all
-- locks, then the hash beside each.
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
local lost = {}
for n, owner in ipairs(owners) do
  local holder = redis.pcall('GET', keys[n])
  if holder == owner then
    redis.call('PEXPIRE', keys[n], ttl_ms)
    redis.call('PEXPIRE', keys[#owners + n], ttl_ms)
  else
    lost[#lost + 1] = holder and -n or n
  end
end
return lost
