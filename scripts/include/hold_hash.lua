-- @leaves hold
-- Makes a lock that is free `owner`'s.
local function hold(lock, owner, ttl_ms)
  redis.call('HSET', lock, owner, '1')
  redis.call('PEXPIRE', lock, ttl_ms)
end
