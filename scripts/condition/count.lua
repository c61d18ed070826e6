-- Changes nothing. Reply: how many wait.
local waiting = KEYS[1]
return redis.call('ZCARD', waiting)
