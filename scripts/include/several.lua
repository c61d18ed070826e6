-- @leaves several
-- What a lock over several names is made of. `keys` are all locks, then all token counters, then all queues, each in the
-- order of the names, which is sorted.
local function several(keys)
  local names, n = {}, #keys / 3
  for i = 1, n do names[i] = {lock = keys[i], counter = keys[n + i], queue = keys[2 * n + i]} end
  return names
end
