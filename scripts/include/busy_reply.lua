-- @needs micros
-- @leaves busy_reply
-- The reply of an acquisition that found the lock busy: {pttl of the lock, callers ahead in the queue, ticket, token counter,
-- owner, microseconds since it was taken}. Of several readers the owner is the one that has it longest. `last` is the counter
-- as GET gave it, which says when the lock was taken (-1: it can't; of readers it can't either).
local function busy_reply(lock, counter, queue, holder, last, ahead, ticket)
  last = tonumber(last)
  -- It was lost, and made anew by the INCR of a fast request, which gives it no ttl.
  if last and last < 1e14 then redis.call('PEXPIRE', counter, '86400000') end
  last = last or 0
  local held_us = micros() - last
  if last == 0 or held_us < 0 then held_us = -1 end
  if holder == 'holdfast_readers' then
    local reader = redis.pcall('ZRANGE', string.sub(queue, 1, -6) .. 'readers', '-1', '-1')
    holder, held_us = reader[1] or holder, -1
  elseif string.sub(holder, 37, 37) == ':' and string.sub(holder, -2) == ':r' then
    held_us = -1  -- the only one: see as_readers
  end
  return {redis.call('PTTL', lock), ahead, ticket, last, holder, held_us}
end
