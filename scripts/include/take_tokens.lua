-- Reserves `count` fencing tokens, or one if more would bring the counter ahead of the server's clock: a counter that was
-- lost starts again at that clock, so it must never have run ahead of it. `last` is the counter as GET gave it. It outlives
-- its last use by a day. Returns the first token, and how many there are.
local function take_tokens(counter, last, count)
  local now = micros()
  last = last or now
  count = tonumber(count)
  if last + count > now then count = 1 end
  redis.call('SET', counter, string.format('%.0f', last + count), 'EX', 86400)
  return last + 1, count
end
