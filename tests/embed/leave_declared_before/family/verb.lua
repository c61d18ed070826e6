-- refused: include/pop.lua leaves 'pop', which is declared before it already
local pop = KEYS[1]
-- @include pop
return pop
