-- @needs wake_next
-- @leaves give_all_back
-- Gives back those of the names that are `owner`'s, and only then tells the next waiter of each. Returns 1 when all were;
-- else 0 or -1 as the first that wasn't was found: gone, or somebody else's.
local function give_all_back(names, owner, starvation_us, grant_ms)
  local found, mine = 1, {}
  for _, name in ipairs(names) do
    local holder = redis.pcall('GET', name.lock)
    if holder == owner then
      mine[#mine + 1] = name
    elseif found == 1 then
      found = holder and -1 or 0
    end
  end
  for _, name in ipairs(mine) do redis.call('DEL', name.lock) end
  -- Should a side key be spoilt, the locks are free all the same; the waiters find out by themselves.
  for _, name in ipairs(mine) do pcall(wake_next, name.lock, name.counter, name.queue, starvation_us, grant_ms) end
  return found
end
