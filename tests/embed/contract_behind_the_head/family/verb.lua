-- refused: write `-- @needs a, b` or `-- @leaves a, b` in the head of include/pop.lua, not '-- @needs list'
local list = {unpack(KEYS)}
-- @include pop
return pop()
