-- @needs lock, counter, queue, heavy, limit, out, now_ms, keep_for, drop_expired, join_queue
-- @leaves keep_in, join_permit_queue, busy_permits
-- An owner that has permits has them for so long from now.
local function keep_in(owner, ttl_ms)
  redis.call('ZADD', lock, string.format('%.0f', now_ms() + ttl_ms), owner)
  keep_for(ttl_ms)
end

-- See join_queue.
local function join_permit_queue(owner, amount, ticket, waited_us)
  local waiters = redis.call('ZCOUNT', queue, '-inf', string.format('(%.0f', heavy))
  ticket = join_queue(queue, owner, ticket, waited_us, waiters - 1)
  if amount > 1 then redis.call('ZADD', queue, string.format('%.0f', heavy + amount), owner .. ':p') end
  return ticket
end

-- The reply of an acquisition that didn't get its permits: {milliseconds until the first has to give its permits back, -2: nobody
-- has any; callers ahead in the queue; ticket; token counter; owner of that first; -1; how many there are, -1: nobody has said; how
-- many are out}.
local function busy_permits(ahead, ticket)
  local holder, ends_ms = drop_expired()
  local left_ms = holder and ends_ms - now_ms() or -2
  local last = tonumber(redis.call('GET', counter) or 0)
  if last and last > 0 and last < 1e14 then redis.call('PEXPIRE', counter, '86400000') end  -- as in busy_reply
  return {left_ms, ahead, ticket, last, holder or '', -1, limit or -1, out}
end
