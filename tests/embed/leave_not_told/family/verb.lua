-- refused: include/pop.lua declares 'popped' at its top level, and doesn't say that it leaves it
-- @include pop
return pop({})
