-- @leaves prolong
-- Gives a key so much time, and never less than it has, unless `mode` is "exactly". One without a ttl gets one.
local function prolong(key, ttl_ms, mode)
  if mode == 'exactly' or redis.call('PTTL', key) < tonumber(ttl_ms) then redis.call('PEXPIRE', key, ttl_ms) end
end
