-- @needs micros, settle
-- @leaves enter
-- Lets a reader in, or gives one that is in a full ttl. `shared`: others read; otherwise the lock is free.
local function enter(lock, readers, owner, ttl_ms, shared)
  local now_ms = math.floor(micros() / 1000)
  -- Those who are left from before a writer, or whose time is over.
  local first = redis.call('ZRANGE', readers, '0', '0', 'WITHSCORES')
  while first[1] and (not shared or tonumber(first[2]) <= now_ms) do
    redis.call('ZREM', readers, first[1])
    first = redis.call('ZRANGE', readers, '0', '0', 'WITHSCORES')
  end
  redis.call('ZADD', readers, string.format('%.0f', now_ms + ttl_ms), owner)
  if shared then
    settle(lock, readers)
  else
    redis.call('SET', lock, 'holdfast_readers', 'PX', ttl_ms)
    redis.call('PEXPIRE', readers, ttl_ms)
  end
end
