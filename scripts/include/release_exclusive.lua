-- @needs lock, counter, queue, owner, starvation_us, grant_ms, wake_next
-- How a release of the exclusive lock of the plain wire ends, step by step (see take_exclusive).
local holder = redis.pcall('GET', lock)
if holder ~= owner then return holder and -1 or 0 end
-- Should a side key be spoilt, or on its way to another node with its slot, the lock is free all the same; the waiters find out
-- by themselves, and none was told that it has the lock.
local fine, outcome = pcall(wake_next, lock, counter, queue, starvation_us, grant_ms)
if not fine or outcome ~= 'granted' then redis.call('DEL', lock) end
return 1
