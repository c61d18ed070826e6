-- What a client says of itself.
-- Reply: {field, value, field, value...}, empty when there is no record, or none that can be read.
local record = KEYS[1]
if redis.call('TYPE', record).ok ~= 'hash' then return {} end
return redis.call('HGETALL', record)
