-- refused: write `-- @needs a, b` or `-- @leaves a, b` in the head of include/pop.lua, not '-- @leave pop'
-- @include pop
return pop({})
