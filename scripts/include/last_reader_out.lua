-- @needs lock, counter, queue, readers, starvation_us, grant_ms, micros, to_inbox, is_reader, settle, wake_next
-- What follows when a reader has left, step by step (see take_exclusive): the lock ends with the last of those that are left. The
-- last one out frees it, and tells the next waiter. Where only those are left that won't renew, it ends sooner than was said to
-- who waits: the first is told to ask, unless it does so by itself before that.
local last = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2]
local left_ms = last and last - micros() / 1000 or 0
if left_ms > 0 then
  settle(lock, readers)
  local first = left_ms < 1000 and redis.pcall('ZRANGE', queue, 0, 0)[1]
  if first and not is_reader(first) then to_inbox(first, queue, 'woken ' .. string.sub(first, 38) .. ' ' .. lock) end
  return 1
end
redis.call('DEL', readers)
-- As in release_exclusive.
local fine, outcome = pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
if not fine or outcome ~= 'granted' then redis.call('DEL', lock) end
return 1
