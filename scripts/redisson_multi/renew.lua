-- Gives each lease of several locks a ttl, "at least" or "exactly" as `mode` says, if all of them still are its owner's: `leases` are pairs of an owner
-- and how many of the locks are its own, in their order. A lease that has lost one is lost, and isn't renewed.
-- Reply: the places (from 1) of the leases that are lost: n when the first lost key is gone, -n when it is somebody else's.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local mode = ARGV[2]
local leases = {unpack(ARGV, 3)}
-- @include owner_hash
-- @include prolong
local lost, last = {}, 0
for n = 1, #leases / 2 do
  local owner, first = leases[2 * n - 1], last + 1
  last = last + leases[2 * n]
  local missing
  for i = first, last do
    local found = found_by(owner, locks[i])
    if found ~= 1 then missing = missing or (found == 0 and n or -n) end
  end
  if missing then
    lost[#lost + 1] = missing
  else
    for i = first, last do prolong(locks[i], ttl_ms, mode) end
  end
end
return lost
