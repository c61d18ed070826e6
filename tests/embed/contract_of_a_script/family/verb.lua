-- refused: write `-- @include name` alone on its line, not '-- @needs list'
-- @needs list
return list[1]
