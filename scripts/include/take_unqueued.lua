-- @needs lock, counter, queue, owner, ttl_ms, tokens
-- A lock that is free, and that nobody waits for, is taken here: before the functions are made, which cost more. Its tokens are those
-- of take_tokens: they end at the server's clock, and without a counter there is one, behind it; where so many don't fit between the
-- clock and the counter, the steps below do it all.
if redis.call('EXISTS', lock, queue) == 0 then
  local known, time = redis.call('GET', counter), redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  local newest, count = now_us, tonumber(tokens)
  if not known then newest, count = now_us + 1, 1 end
  local last = tonumber(known)
  if not known or last and now_us - last >= count then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    redis.call('SET', counter, string.format('%.0f', newest), 'EX', '86400')
    return {newest - count + 1, count}
  end
end
