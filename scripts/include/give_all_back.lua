-- @leaves give_all_back
-- Gives back those of the names that are their owner's, and only then tells the next waiter of each. Returns 1 when all were;
-- else 0 or -1 as the first that wasn't was found: gone, or somebody else's.
local function give_all_back(names, starvation_us, grant_ms)
  local found, given_back = 1, {}
  for _, name in ipairs(names) do
    local given = name.kind.give(name)
    if given == 1 then
      given_back[#given_back + 1] = name
    elseif found == 1 then
      found = given
    end
  end
  -- Should a side key be spoilt, the locks are free all the same; the waiters find out by themselves.
  for _, name in ipairs(given_back) do pcall(name.kind.tell, name, starvation_us, grant_ms) end
  return found
end
