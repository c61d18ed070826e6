-- @needs micros, take_tokens, to_inbox, is_reader, put_back, let_readers_in
-- @leaves wake_next
-- Tells the first waiter whose process can be reached, and takes it out of the queue. A waiter that has waited for
-- `starvation_us` is given the lock at once, with 0 whatever the clocks say ('granted'); any other is told to ask ('woken').
-- 'nobody': there is no waiter. Readers at the head are always given the lock, together. `asker`, if given, is the waiter that
-- runs the script: if it is the first, the reply tells it ('asker'), and no message. If nobody hears a message, the waiter's
-- process is gone, and the next waiter is told. A waiter that would upgrade a lease (':w') is passed over, since its lease is
-- over if the lock is free. Without the right to publish the waiters poll, and stay in the queue ('mute').
local function wake_next(lock, counter, queue, starvation_us, grant_ms, asker)
  local limit = tonumber(starvation_us)
  while true do
    local first = redis.call('ZPOPMIN', queue)
    local waiter, since = first[1], first[2]
    if not waiter then return 'nobody' end
    if is_reader(waiter) then
      local count, mute, passed_over = let_readers_in(lock, counter, queue, grant_ms, asker, first)
      if count > 0 then return 'granted' end
      if mute then return mute end
      if passed_over then return 'nobody' end  -- they are the first again, and the lock isn't free
    elseif string.sub(waiter, -2) ~= ':w' then
      if waiter == asker then return 'asker' end
      local number = string.sub(waiter, 38)
      local starved = limit <= 0 or micros() - since >= limit
      local heard
      if starved then
        -- One token for the lease, and one for each of the handoffs behind it: 64 is the usual handoff_limit.
        local token, count = take_tokens(counter, redis.call('GET', counter), 65)
        -- Before the message: while the slot moves to another node, the script may end here, if it has deleted the lock.
        redis.call('SET', lock, waiter, 'PX', grant_ms)
        heard = to_inbox(waiter, queue, string.format('granted %s %.0f %d %s', number, token, count, lock))
      else
        heard = to_inbox(waiter, queue, 'woken ' .. number .. ' ' .. lock)
      end
      if starved and (type(heard) == 'table' or heard == 0) then redis.call('DEL', lock) end
      if type(heard) == 'table' then
        put_back(queue, waiter, since)
        return 'mute'
      end
      if heard > 0 then
        if not starved then return 'woken' end
        return 'granted'
      end
    end
  end
end
