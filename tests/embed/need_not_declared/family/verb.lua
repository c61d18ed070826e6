-- refused: include/pop.lua needs 'size', which isn't declared before it
local list = {unpack(KEYS)}
local function size_of(size)
  return size
end
-- @include pop
local size = #list
return pop(list)
