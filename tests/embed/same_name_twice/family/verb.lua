-- refused: two of its keys and arguments have the same name
local lock = KEYS[1]
local lock = ARGV[1]
return lock
