-- Gives a key at least so much time, and never less than it has. A key without a ttl gets one.
local function rw_raise(key, ttl_ms)
  if redis.call('PTTL', key) < tonumber(ttl_ms) then redis.call('PEXPIRE', key, ttl_ms) end
end
