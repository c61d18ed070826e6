-- Gives each lock that still is its leader's a full ttl, and what is said of that leader: owners[i] leads by locks[i]; `keys` are all
-- locks, then the hash beside each.
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's; and {n, 'value'} of those
-- that lead, while the hash says nothing of them.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
local report = {}
-- What can't be read can't be said anew, either.
local function says_nothing(leader, owner)
  local said = redis.pcall('HGETALL', leader)
  for i = 1, #said, 2 do
    if said[i] == 'owner' then return said[i + 1] ~= owner end
  end
  return not said.err
end
for n, owner in ipairs(owners) do
  local holder, leader = redis.pcall('GET', keys[n]), keys[#owners + n]
  if holder ~= owner then
    report[#report + 1] = holder and -n or n
  else
    redis.call('PEXPIRE', keys[n], ttl_ms)
    if says_nothing(leader, owner) then
      report[#report + 1] = {n, 'value'}
    else
      redis.call('PEXPIRE', leader, ttl_ms)
    end
  end
end
return report
