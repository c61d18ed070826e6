-- @needs micros
-- @leaves count_on
-- Reserves fencing tokens, as take_tokens does, for a lock that several masters vote on: they follow the newest one, here or as
-- far as the caller has seen (`newest`), so that masters which agreed go on agreeing, and needn't be brought level. A counter
-- that is absent starts at the server's clock in microseconds; none gets ahead of that clock while there is room, so that one
-- which was lost starts behind all that were handed out.
local function count_on(counter, last, newest, count)
  local now = micros()
  local from = math.max(tonumber(last or now), tonumber(newest))
  count = math.max(1, math.min(tonumber(count), now - from))
  redis.call('SET', counter, string.format('%.0f', from + count), 'EX', '86400')
  return from + 1, count
end
