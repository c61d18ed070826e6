-- refused: KEYS[1] is out of order: KEYS[2] comes next
local lock = KEYS[1]
local queue = KEYS[1]
return 0
