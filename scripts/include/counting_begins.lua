-- @needs counting, at, limit, out, put_in, drop_expired, let_in, end_empty, keep_in, join_permit_queue, busy_permits
-- The same as writing_begins, for names of which it wants permits. Nor does it go past those that came earlier for theirs. `aside`: it
-- wants more than there are altogether.
function counting.look(name)
  local spoilt = at(name)
  return spoilt and spoilt.err .. ' IN ' .. name.lock
end
function counting.see(name, how)
  at(name)
  drop_expired()
  name.held = redis.call('ZSCORE', name.lock, name.owner)
  local clear = redis.call('EXISTS', name.queue) == 0
  if not name.held and not clear then
    if how.mode == 'join' then name.queued = counting.join(name, how.ticket) end
    name.held, clear = let_in(how.grant_ms, name.owner, how.grant_ms)
    name.last = redis.call('GET', name.counter)
  end
  name.aside = not limit or name.amount > limit
  name.free = name.held or (clear and limit and out + name.amount <= limit)
  if not name.free then end_empty() end
end
function counting.take(name, ttl_ms)
  at(name)
  if name.held then
    keep_in(name.owner, ttl_ms)
  else
    put_in(name.owner, name.amount, ttl_ms)
  end
end
function counting.join(name, ticket)
  at(name)
  return join_permit_queue(name.owner, name.amount, ticket, 0)
end
function counting.busy(name, ticket)
  at(name)
  local reply = busy_permits(ticket and redis.call('ZRANK', name.queue, name.owner) or -1, ticket or 0)
  end_empty()
  return reply
end
