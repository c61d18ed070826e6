-- @needs writing, join_queue, busy_reply
-- How a lock over several names takes those that it writes. Each kind of name has these functions besides those of writing_ends:
-- look: reads the key of the lock; returns what is wrong with it. Nothing is written before all names have been looked at.
-- see: whether it could be taken now, `free`; and whether the owner has it, `held`. Where the order is strict the owner gets in line
-- for that (if `how.mode` is "join"), and whoever is first gets it.
-- take: takes what is free, or gives what is the owner's another ttl.
-- join: waits in the queue; returns the ticket.
-- busy: the reply when it isn't free, for one that has joined with that ticket; without a ticket: for one that hasn't.
function writing.look(name)
  name.holder = redis.pcall('GET', name.lock)
  if type(name.holder) == 'table' then return 'WRONGTYPE ' .. redis.call('TYPE', name.lock).ok .. ' ' .. name.lock end
end
function writing.see(name)
  name.held = name.holder == name.owner
  name.free = not name.holder or name.held
end
function writing.take(name, ttl_ms) redis.call('SET', name.lock, name.owner, 'PX', ttl_ms) end
function writing.join(name, ticket) return join_queue(name.queue, name.owner, ticket, 0) end
function writing.busy(name, ticket)
  local ahead = ticket and redis.call('ZRANK', name.queue, name.owner) or -1
  return busy_reply(name.lock, name.counter, name.queue, name.holder, name.last, ahead, ticket or 0)
end
