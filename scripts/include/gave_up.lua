-- @leaves gave_up
-- Has the writer `owner` given up already? `given_up`: the last of a client's that did. A client's numbers grow.
local function gave_up(given_up, owner)
  local last = redis.call('GET', given_up)
  return last and string.sub(last, 1, 37) == string.sub(owner, 1, 37)
    and tonumber(string.sub(last, 38)) >= tonumber(string.sub(owner, 38))
end
