-- @leaves gave_up
-- Has the writer `owner` given up already? `given_up`: the last of all that did. A client's numbers grow. If another client has given
-- up since, nothing is known, and nothing has to be: that one had the upgrade lease then, so the one that `owner` was to take the place
-- of was over before, and is never in again.
local function gave_up(given_up, owner)
  local last = redis.call('GET', given_up)
  return last and string.sub(last, 1, 37) == string.sub(owner, 1, 37)
    and tonumber(string.sub(last, 38)) >= tonumber(string.sub(owner, 38))
end
