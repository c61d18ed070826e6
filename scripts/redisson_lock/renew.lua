-- Gives each lock that still is its owner's a ttl, "at least" or "exactly" as `mode` says: owners[i] is the owner of locks[i].
-- Reply: the places (from 1) of those that are lost: n when the key is gone, -n when it is somebody else's.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local mode = ARGV[2]
local owners = {unpack(ARGV, 3)}
-- @include owner_hash
-- @include prolong
local lost = {}
for n, lock in ipairs(locks) do
  local found = found_by(owners[n], lock)
  if found == 1 then
    prolong(lock, ttl_ms, mode)
  else
    lost[#lost + 1] = found == 0 and n or -n
  end
end
return lost
