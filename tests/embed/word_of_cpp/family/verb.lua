-- refused: 'new' can't be the name of a field in C++
local new = ARGV[1]
return new
