-- @needs micros
-- @leaves busy_reply
-- The reply of an acquisition that found the lock busy: {pttl of the lock, callers ahead in the queue, ticket, token counter,
-- owner, microseconds since it was taken}. `last` is the counter as GET gave it, which says when that was (-1: it can't).
local function busy_reply(lock, holder, last, ahead, ticket)
  last = tonumber(last) or 0
  local held_us = micros() - last
  if last == 0 or held_us < 0 then held_us = -1 end
  return {redis.call('PTTL', lock), ahead, ticket, last, holder, held_us}
end
