-- @leaves reads, read_on
-- Whether the reader still is in, and its time isn't over; and who has the lock. An upgrade lease is in also while its writer has the lock
-- in its place, as long as its client hasn't heard of that: see upgrade.
local function reads(lock, readers, owner, now_ms)
  local holder = redis.pcall('GET', lock)
  local is_in = holder == 'holdfast_readers'
    or (type(holder) == 'string' and string.sub(owner, -2) == ':u' and type(redis.pcall('ZSCORE', readers, holder .. ':w')) == 'string')
  local ends = is_in and redis.pcall('ZSCORE', readers, owner)
  return type(ends) == 'string' and tonumber(ends) > now_ms, holder
end

-- It has a full ttl from now on.
local function read_on(lock, readers, owner, now_ms, ttl_ms)
  -- At maxmemory ZADD is refused, unless the script has written before, and this needs no memory.
  redis.call('PEXPIRE', readers, ttl_ms)
  redis.call('ZADD', readers, string.format('%.0f', now_ms + ttl_ms), owner)
  local left_ms = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')[2] - now_ms
  redis.call('PEXPIRE', lock, left_ms)
  redis.call('PEXPIRE', readers, left_ms)
end
