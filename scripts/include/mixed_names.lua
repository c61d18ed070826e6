-- @needs writing, reading, counting
-- @leaves mixed_names
-- What a lock over several names of mixed kinds is made of. `keys` are as for `several`, and then of each name the readers, or the size of
-- the semaphore. `kinds`: "write", "read", or "<permits>/<size>", where the size is what is offered to a semaphore that has none (0: the
-- caller doesn't know it either).
local function mixed_names(keys, kinds, owner)
  local names, n = {}, #kinds
  for i, kind in ipairs(kinds) do
    local amount, offered = string.match(kind, '^(%d+)/(%d+)$')
    local name = {lock = keys[i], counter = keys[n + i], queue = keys[2 * n + i], owner = owner, kind = writing}
    if amount then
      name.kind, name.size, name.amount, name.offered = counting, keys[3 * n + i], tonumber(amount), offered
    elseif kind == 'read' then
      name.kind, name.readers, name.owner = reading, keys[3 * n + i], owner .. ':r'
    end
    names[i] = name
  end
  return names
end
