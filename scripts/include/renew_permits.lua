-- @leaves has_permits, keep_permits
-- Whether the owner has permits, and its time isn't over; and what ZSCORE said.
local function has_permits(lock, owner, now_ms)
  local ends = redis.pcall('ZSCORE', lock, owner)
  return type(ends) == 'string' and tonumber(ends) > now_ms, ends
end

-- It has them for a full ttl from now on.
local function keep_permits(lock, owner, now_ms, ttl_ms)
  -- At maxmemory ZADD is refused, unless the script has written before, and this needs no memory.
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), ttl_ms))
  redis.call('ZADD', lock, string.format('%.0f', now_ms + ttl_ms), owner)
end
