-- Gives those of many locks back that nobody waits for: owners[n] is the owner of keys[2n - 1], whose queue is keys[2n].
-- Reply: the places (from 1) of those that somebody waits for, which are still the owner's: see release.
local keys = {unpack(KEYS)}
local owners = {unpack(ARGV)}
local wanted = {}
for n, owner in ipairs(owners) do
  local lock = keys[2 * n - 1]
  if redis.pcall('GET', lock) == owner then
    if redis.call('EXISTS', keys[2 * n]) == 1 then
      wanted[#wanted + 1] = n
    else
      redis.call('DEL', lock)
    end
  end
end
return wanted
