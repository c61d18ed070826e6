-- @leaves pop, popped
local function pop(list)
  local popped = list[1]
  return popped
end
