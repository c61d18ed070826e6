-- refused: KEYS[1] is named after the rest was taken
local locks = {unpack(KEYS)}
local lock = KEYS[1]
return lock
