-- @needs micros, writing, reading, as_readers, give_turns, others_wait, enter
-- The same as writing_begins, for names that it reads. As any reader, it doesn't go past a writer that waits.
function reading.look(name)
  local spoilt = writing.look(name)
  local ends = redis.pcall('ZSCORE', name.readers, name.owner)
  if spoilt or type(ends) ~= 'table' then return spoilt end
  return string.sub(ends.err, 1, 9) == 'WRONGTYPE' and 'WRONGTYPE beside ' .. name.lock or ends.err
end
function reading.is_in(name)
  local until_ms = name.holder == 'holdfast_readers' and redis.call('ZSCORE', name.readers, name.owner)
  return until_ms and tonumber(until_ms) > micros() / 1000
end
function reading.see(name, how)
  name.holder = as_readers(name.lock, name.readers, name.holder)
  name.held = reading.is_in(name)
  if not name.held and redis.call('EXISTS', name.queue) == 1 then
    if how.mode == 'join' then name.queued = reading.join(name, how.ticket) end
    give_turns(name.lock, name.counter, name.queue, name.holder, name.owner, how.grant_ms)
    name.holder = redis.call('GET', name.lock)
    name.last = redis.call('GET', name.counter)
    name.held = reading.is_in(name)
    if not name.held and name.holder == 'holdfast_readers' and others_wait(name.queue) then return end
  end
  name.free = name.held or not name.holder or name.holder == 'holdfast_readers'
end
function reading.take(name, ttl_ms)
  enter(name.lock, name.readers, name.owner, ttl_ms, name.holder == 'holdfast_readers')
end
reading.join, reading.busy = writing.join, writing.busy
