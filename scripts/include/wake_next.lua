-- @needs publish, micros, take_tokens
-- @leaves to_inbox, wake_next
-- Puts a message into the inbox that a waiter's client has for this lock, a channel named as the keys beside it are. Returns how
-- many heard it, or the error when the right to publish is missing. `publish` is PUBLISH; or SPUBLISH, in a cluster: to the
-- node that has the lock; or UNCOUNTED, in a cluster of which it isn't known, or which can't (below 7): both ways, and the
-- message counts as heard, since PUBLISH doesn't count the listeners of other nodes, who hear it all the same.
local function to_inbox(waiter, queue, message)
  local inbox = string.sub(queue, 1, -6) .. 'inbox:' .. string.sub(waiter, 1, 36)  -- in place of "queue"
  if publish ~= 'UNCOUNTED' then return redis.pcall(publish, inbox, message) end
  redis.pcall('SPUBLISH', inbox, message)  -- an error where there is no such command
  local heard = redis.pcall('PUBLISH', inbox, message)
  return type(heard) == 'table' and heard or 1
end

-- Tells the first waiter whose process can be reached, and takes it from the queue. One that has waited for
-- `starvation_us` is given the lock here and now ('granted'), with 0 whatever the clocks say; any other is told to ask
-- ('woken'); 'nobody' when there is none. `self`, if given, is who asks, and is told by the reply: 'self' when it is the
-- first. When nobody heard it the process is gone, so the next one is told. Where the right to publish is missing the
-- waiters poll, and stay queued ('mute'). A grant brings tokens for a series of handoffs.
local function wake_next(lock, counter, queue, starvation_us, grant_ms, self)
  local limit = tonumber(starvation_us)
  while true do
    local first = redis.call('ZPOPMIN', queue)
    local waiter, since = first[1], first[2]
    if not waiter then return 'nobody' end
    if waiter == self then return 'self' end
    local number = string.sub(waiter, 38)
    local starved = limit <= 0 or micros() - since >= limit
    local heard
    if starved then
      local token, count = take_tokens(counter, redis.call('GET', counter), 65)
      -- Before it is told: where the slot is on its way to another node the script may end here, if it has deleted the lock.
      redis.call('SET', lock, waiter, 'PX', grant_ms)
      heard = to_inbox(waiter, queue, string.format('granted %s %.0f %d %s', number, token, count, lock))
    else
      heard = to_inbox(waiter, queue, 'woken ' .. number .. ' ' .. lock)
    end
    if starved and (type(heard) == 'table' or heard == 0) then redis.call('DEL', lock) end
    if type(heard) == 'table' then
      redis.call('ZADD', queue, since, waiter)
      redis.call('PEXPIRE', queue, 60000)
      return 'mute'
    end
    if heard > 0 then
      if not starved then return 'woken' end
      return 'granted'
    end
  end
end
