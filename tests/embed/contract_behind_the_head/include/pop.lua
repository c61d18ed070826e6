-- @leaves pop
local function pop() return list[1] end
-- @needs list
