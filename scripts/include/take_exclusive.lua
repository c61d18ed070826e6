-- @needs lock, counter, queue, owner, ttl_ms, mode, ticket, join_queue, busy_reply
-- @leaves last, queued
-- What all that take the exclusive lock of the plain wire begin with: not a function, but the very steps, since each function
-- costs the server a fraction of a command. Ends the script where the lock is somebody else's. `last`: the counter as GET gave it.
-- Before anything is written: side keys of another kind end the script here.
local last = redis.call('GET', counter)
local queued = redis.call('ZSCORE', queue, owner)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
if not redis.call('SET', lock, owner, 'NX', 'PX', ttl_ms) then
  local holder = redis.pcall('GET', lock)
  if type(holder) == 'table' then
    return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', lock).ok)
  end
  if holder ~= owner then
    if mode == 'ask' then return busy_reply(lock, counter, queue, holder, last, -1, 0) end
    ticket = join_queue(queue, owner, ticket, 0)
    return busy_reply(lock, counter, queue, holder, last, redis.call('ZRANK', queue, owner), ticket)
  end
  redis.call('PEXPIRE', lock, ttl_ms)
end
if queued then redis.call('ZREM', queue, owner) end
