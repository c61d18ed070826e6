-- refused: ARGV[2] is out of order: ARGV[1] comes next
local owner = ARGV[2]
return owner
