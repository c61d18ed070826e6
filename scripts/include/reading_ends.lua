-- @needs wake_next, after_reader, writing
-- @leaves reading
-- The same as writing_ends, for names that it reads. Nobody waits for a reader that waits. Whoever is next is granted the lock, however
-- short it has waited, as when a shared_mutex is released: the order is strict.
local reading = {unqueue = writing.unqueue}
function reading.give(name)
  name.holder = redis.pcall('GET', name.lock)
  name.given = name.holder == 'holdfast_readers' and redis.pcall('ZREM', name.readers, name.owner) == 1
  if name.given then return 1 end
  return name.holder and name.holder ~= 'holdfast_readers' and -1 or 0
end
function reading.tell(name, _, grant_ms)
  if name.given then
    after_reader(name.lock, name.counter, name.queue, name.readers, name.owner, 0, grant_ms)
  elseif not name.holder then
    wake_next(name.lock, name.counter, name.queue, 0, grant_ms)
  end
end
function reading.make_way() end
