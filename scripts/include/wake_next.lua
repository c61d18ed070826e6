-- @needs micros, take_tokens, to_inbox, is_reader, put_back, let_readers_in
-- @leaves wake_next
-- Tells the first waiter whose process can be reached, and takes it from the queue. One that has waited for
-- `starvation_us` is given the lock here and now ('granted'), with 0 whatever the clocks say; any other is told to ask
-- ('woken'); 'nobody' when there is none. Readers at the head are always given the lock, together. `self`, if given, is who
-- asks, and is told by the reply: 'self' when it is the first. When nobody heard it the process is gone, so the next one is
-- told; so is one that would upgrade a lease (':w'), which is over if the lock is free. Where the right to publish is missing the waiters poll, and stay queued ('mute'). A grant brings tokens for a series
-- of handoffs.
local function wake_next(lock, counter, queue, starvation_us, grant_ms, self)
  local limit = tonumber(starvation_us)
  while true do
    local first = redis.call('ZPOPMIN', queue)
    local waiter, since = first[1], first[2]
    if not waiter then return 'nobody' end
    if is_reader(waiter) then
      local count, mute, passed_over = let_readers_in(lock, counter, queue, grant_ms, self, first)
      if count > 0 then return 'granted' end
      if mute then return mute end
      if passed_over then return 'nobody' end  -- they are the first again: it isn't free, as who asks has said
    elseif string.sub(waiter, -2) ~= ':w' then
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
