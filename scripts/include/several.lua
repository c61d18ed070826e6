-- @needs writing
-- @leaves several
-- What a lock over several names is made of. `keys` are all locks, then all token counters, then all queues, each in the
-- order of the names, which is sorted. All are to be written: see `writing`.
local function several(keys, owner)
  local names, n = {}, #keys / 3
  for i = 1, n do
    names[i] = {lock = keys[i], counter = keys[n + i], queue = keys[2 * n + i], owner = owner, kind = writing}
  end
  return names
end
