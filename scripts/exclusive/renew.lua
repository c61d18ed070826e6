-- Gives each lock that still is its owner's a full ttl: owners[i] is the owner of locks[i].
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
local lost = {}
for n, lock in ipairs(locks) do
  local holder = redis.pcall('GET', lock)
  if holder == owners[n] then
    redis.call('PEXPIRE', lock, ttl_ms)
  else
    lost[#lost + 1] = holder and -n or n
  end
end
return lost
