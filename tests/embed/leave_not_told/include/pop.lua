-- @leaves pop
local popped, none = 0
local function pop(list)
  popped = popped + 1
  return list[popped] or none
end
