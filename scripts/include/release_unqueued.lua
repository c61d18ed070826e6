-- @needs lock, queue, owner
-- A lock that nobody waits for is given back here: before the functions are made, which cost more.
do
  local holder = redis.pcall('GET', lock)
  if holder ~= owner then return holder and -1 or 0 end
  if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lock) end
end
