-- refused: include/pop.lua says that it leaves 'popped', but doesn't declare it at its top level
-- @include pop
return pop({})
