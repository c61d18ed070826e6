-- Reserves `count` fencing tokens and returns the first. `last` is the counter as GET gave it: absent, it starts at the
-- server's clock, so tokens keep growing when the counter was lost. It outlives its last use by a day.
local function take_tokens(counter, last, count)
  last = last or micros()
  redis.call('SET', counter, string.format('%.0f', last + count), 'EX', 86400)
  return last + 1
end
