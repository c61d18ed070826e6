-- @leaves prolong
-- Gives a key so much time, and never less than it has, unless `mode` is "exactly". One without a ttl gets one. It always writes:
-- a WAIT behind a request that found its effect, of a copy over another connection, counts the replicas that have this write.
local function prolong(key, ttl_ms, mode)
  if mode ~= 'exactly' then ttl_ms = math.max(ttl_ms, redis.call('PTTL', key)) end
  redis.call('PEXPIRE', key, ttl_ms)
end
