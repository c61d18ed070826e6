-- refused: the rest of ARGV starts at 2, not at 3
local owner = ARGV[1]
local ids = {unpack(ARGV, 3)}
return ids
