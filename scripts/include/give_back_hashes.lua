-- @needs found_by, tell
-- @leaves give_back
-- Gives back those of the locks that are `owner`'s, and only then tells the waiters of each. Returns 1 when all were; else 0 or
-- -1 as the first that wasn't was found: gone, or somebody else's; and how many were.
local function give_back(locks, owner, channels)
  local result, given, told = 1, 0, {}
  for n, lock in ipairs(locks) do
    local found = found_by(owner, lock)
    if found == 1 then
      redis.call('HDEL', lock, owner)
      given = given + 1
      told[given] = channels[n]
    elseif result == 1 then
      result = found
    end
  end
  for _, channel in ipairs(told) do tell(channel, '0') end
  return result, given
end
