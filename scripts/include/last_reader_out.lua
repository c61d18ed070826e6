-- @needs micros, to_inbox, is_upgrade, is_reader, settle, let_readers_in, wake_next
-- @leaves after_reader
-- What follows when the reader `owner` has left: the lock ends with the last of those that are left. The
-- last one out frees it, and tells the next waiter. If an upgrade lease is the last, or nearly, and waits to write, it is told to
-- ask. If an upgrade lease has left, the next one goes in. Where only those are left that won't renew, the lock ends sooner than was said to
-- who waits: the first is told to ask, unless it does so by itself before that.
local function after_reader(lock, counter, queue, readers, owner, starvation_us, grant_ms)
  local last = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  local left_ms = last[1] and last[2] - micros() / 1000 or 0
  if left_ms > 0 then
    settle(lock, readers)
    local other_ends = is_upgrade(last[1]) and (redis.call('ZRANGE', readers, '-2', '-2', 'WITHSCORES')[2] or 0)
    local alone = other_ends and other_ends - micros() / 1000 < 1000
    local first = (alone or left_ms < 1000) and redis.pcall('ZRANGE', queue, '0', '0')[1]
    local heard
    if first and string.sub(first, -2) == ':w' then
      heard = to_inbox(first, queue, 'ready ' .. string.sub(first, 38, -3) .. ' ' .. lock)
      if heard == 0 then redis.call('ZREM', queue, first) end  -- its process is gone
    elseif first and left_ms < 1000 and not is_reader(first) then
      to_inbox(first, queue, 'woken ' .. string.sub(first, 38) .. ' ' .. lock)
    end
    if heard == 0 or is_upgrade(owner) then pcall(let_readers_in, lock, counter, queue, grant_ms) end
    return
  end
  redis.call('DEL', readers)
  -- As in release_exclusive.
  local fine, outcome = pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
  if not fine or outcome ~= 'granted' then redis.call('DEL', lock) end
end
