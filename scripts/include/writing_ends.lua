-- @needs readers_beside, as_readers, let_readers_in, wake_next
-- @leaves writing
-- How a lock over several names gives up those that it writes. Each kind of name (`writing`, `reading`, `counting`) has these functions:
-- give: gives back what the owner has, and tells nobody; returns 1, or 0 when it has nothing, or -1 when others have it. `given` says so.
-- tell: tells the next waiter, if the owner gave the name back, or was woken in vain.
-- unqueue: takes the owner out of the queue; returns whether it was in.
-- make_way: what follows for those behind it.
local writing = {}
function writing.give(name)
  name.holder = redis.pcall('GET', name.lock)
  name.given = name.holder == name.owner
  if name.given then return redis.call('DEL', name.lock) end
  return name.holder and -1 or 0
end
function writing.tell(name, starvation_us, grant_ms)
  if name.given or not name.holder then wake_next(name.lock, name.counter, name.queue, starvation_us, grant_ms) end
end
function writing.unqueue(name) return redis.pcall('ZREM', name.queue, name.owner) == 1 end
function writing.make_way(name, grant_ms)
  -- As in abandon_exclusive.
  local holder = as_readers(name.lock, readers_beside(name.queue), name.holder)
  if holder == 'holdfast_readers' then let_readers_in(name.lock, name.counter, name.queue, grant_ms) end
end
