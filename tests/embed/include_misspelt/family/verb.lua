-- refused: write `-- @include name` alone on its line, not '--@include pop'
--@include pop
return 0
