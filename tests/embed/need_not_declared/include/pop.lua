-- @needs list, size
-- @leaves pop
local function pop() return list[size] end
