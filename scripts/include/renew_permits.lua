-- @leaves has_permits, keep_permits
-- Whether the owner has permits, and its time isn't over; and what ZSCORE said. One that came when nobody had any may be the text of
-- the key: see as_set.
local function has_permits(lock, owner, now_ms)
  local ends = redis.pcall('ZSCORE', lock, owner)
  if type(ends) == 'table' then
    local holder = redis.pcall('GET', lock)
    if type(holder) ~= 'string' or not string.match(holder, '^holdfast_permit %d+ ') then return false, ends end
    return string.sub(holder, -1 - string.len(owner)) == ' ' .. owner, nil
  end
  return type(ends) == 'string' and tonumber(ends) > now_ms, ends
end

-- It has them for a full ttl from now on. The text of the key ends with the key, which others may need for longer if it is a set.
local function keep_permits(lock, owner, now_ms, ttl_ms)
  if redis.call('TYPE', lock).ok == 'string' then return redis.call('PEXPIRE', lock, ttl_ms) end
  -- At maxmemory ZADD is refused, unless the script has written before, and this needs no memory.
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), ttl_ms))
  redis.call('ZADD', lock, string.format('%.0f', now_ms + ttl_ms), owner)
end
