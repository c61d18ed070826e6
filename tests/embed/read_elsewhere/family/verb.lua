-- refused: KEYS is read outside a declaration, in 'return redis.call("GET", KEYS[1]); -- [['
local lock = KEYS[1]
return redis.call("GET", KEYS[1]); -- [[
