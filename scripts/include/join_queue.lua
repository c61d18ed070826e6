-- @needs micros
-- @leaves join_queue
-- Puts `owner` into the queue and returns its ticket, which says since when it waits (server's clock, microseconds). One
-- that comes back with the ticket it had keeps its place; a new one goes behind the last, but before those that have waited
-- less than the `waited_us` it brings. Entries left by processes that died go when a release meets them, or with the whole
-- queue a minute after the last waiter asked. `last_place`: of the last waiter, where something else may stand behind it.
local function join_queue(queue, owner, ticket, waited_us, last_place)
  if ticket == '' then
    ticket = redis.call('ZSCORE', queue, owner)
    if not ticket then
      local place = last_place or -1
      local last = redis.call('ZRANGE', queue, place, place, 'WITHSCORES')[2]
      ticket = micros()
      if last and ticket <= tonumber(last) then ticket = last + 1 end
      ticket = ticket - waited_us
    end
  end
  ticket = tonumber(ticket)
  redis.call('ZADD', queue, string.format('%.0f', ticket), owner)
  redis.call('PEXPIRE', queue, '60000')
  return ticket
end
