-- @needs grant_ms, micros, readers_beside, settle, is_beside, let_readers_in
-- @leaves back_to_upgrade
-- If `owner`, which has the lock, writes in place of an upgrade lease whose time isn't over, that one is in again: nothing took it
-- back from its holder. Returns whether it is.
local function back_to_upgrade(lock, counter, queue, owner, holder)
  if holder ~= owner then return false end
  local readers = readers_beside(queue)
  is_beside(lock, readers)
  if redis.pcall('ZREM', readers, owner .. ':w') ~= 1 then return false end
  local last = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
  if not last[1] or last[2] - micros() / 1000 < 1 then return false end
  redis.call('SET', lock, 'holdfast_readers', 'PX', grant_ms)
  settle(lock, readers)
  -- Should a side key be spoilt, those who wait find out by themselves.
  if redis.call('EXISTS', queue) == 1 then pcall(let_readers_in, lock, counter, queue, grant_ms) end
  return true
end
