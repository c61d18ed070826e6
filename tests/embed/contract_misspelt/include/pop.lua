-- @leave pop
local function pop(list) return list[1] end
