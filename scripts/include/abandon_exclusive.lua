-- @needs lock, counter, queue, owner, starvation_us, grant_ms, readers_beside, as_readers, let_readers_in, wake_next, back_to_upgrade
-- How a wait for the exclusive lock of the plain wire ends, step by step (see take_exclusive). Readers that wait behind a writer
-- come in when it leaves, if others read. One that writes in place of an upgrade lease leaves that in: see stay.
local queued = redis.call('ZREM', queue, owner) == 1
local holder = redis.pcall('GET', lock)
if back_to_upgrade(lock, counter, queue, owner, holder) then return 1 end
local held = holder == owner
if held then redis.call('DEL', lock) end
if held or (not queued and not holder) then
  wake_next(lock, counter, queue, starvation_us, grant_ms)
elseif queued and as_readers(lock, readers_beside(queue), holder) == 'holdfast_readers' then
  let_readers_in(lock, counter, queue, grant_ms)
end
return held and 1 or 0
