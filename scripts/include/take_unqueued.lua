-- @needs lock, counter, queue, owner, ttl_ms, tokens
-- A lock that is free, and that nobody waits for, is taken here: before the functions are made, which cost more. Its tokens are those
-- of take_tokens: they end at the server's clock, and without a counter there is one, behind it; where so many don't fit between the
-- clock and the counter, the steps below do it all.
if redis.call('EXISTS', lock, queue) == 0 then
  local last, time = redis.call('GET', counter), redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  if not last then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    redis.call('SET', counter, string.format('%.0f', now_us + 1), 'EX', '86400')
    return {now_us + 1, 1}
  end
  last = tonumber(last)
  if last and now_us - last >= tonumber(tokens) then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    redis.call('SET', counter, string.format('%s%06d', time[1], time[2]), 'EX', '86400')
    return {now_us - tokens + 1, tonumber(tokens)}
  end
end
