-- @needs tell_observers
-- @leaves step_down
-- What ends with the hold of a leader, besides the hold: its value. The candidate that it has named goes to the head of the queue, if
-- it still waits. Nothing here keeps the lock from being given back, whatever stands in the keys.
local function step_down(lock, queue, leader, owner)
  if redis.pcall('GET', lock) ~= owner then return end
  local fields = redis.pcall('HGETALL', leader)
  for i = 1, #fields, 2 do
    local candidate = fields[i] == 'next' and fields[i + 1]
    if candidate and type(redis.pcall('ZSCORE', queue, candidate)) == 'string' then
      local first = redis.pcall('ZRANGE', queue, '0', '0', 'WITHSCORES')
      redis.pcall('ZADD', queue, string.format('%.0f', first[2] - 1), candidate)
    end
  end
  if not fields.err then redis.pcall('DEL', leader) end  -- otherwise it is no leader's
  tell_observers(leader, 0)
end
