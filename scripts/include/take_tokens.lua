-- @needs micros
-- @leaves take_tokens
-- Reserves fencing tokens, `count` of them or as many as fit, at least one. They end at the server's clock in microseconds, so
-- that the counter tells when the lock was last taken; and never ahead of it, since a counter that was lost starts again at
-- that clock. Where it is ahead (a clock set back) they follow the last one by one. `last` is the counter as GET gave it. It
-- outlives its last use by a day. Returns the first token, and how many there are.
local function take_tokens(counter, last, count)
  local now = micros()
  last = tonumber(last or now)
  count = math.max(1, math.min(tonumber(count), now - last))
  local first = math.max(last + 1, now - count + 1)
  redis.call('SET', counter, string.format('%.0f', first + count - 1), 'EX', '86400')
  return first, count
end
