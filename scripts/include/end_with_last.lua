-- @needs lock, heavy, now_ms
-- @leaves end_with_last
-- The set was to last for an owner without a lease that is gone, and ends with the last that is left.
local function end_with_last()
  local owners = redis.call('ZCOUNT', lock, '0', string.format('(%.0f', heavy))
  local last = owners > 0 and redis.call('ZRANGE', lock, owners, owners, 'WITHSCORES') or {}
  if last[1] then redis.call('PEXPIRE', lock, math.max(last[2] - now_ms(), 1) + 1000) end
end
