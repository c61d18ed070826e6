-- @needs ids, pop
local id = pop(ids)
if not id then return 0 end
return id
