-- @needs tell
-- @leaves rw_settle
-- After a reader has left: the lock lives as long as the longest hold of those that are still in it, and ends if there is
-- none; a writer's time stays as it is. Each hold of each reader has a key of its own: `lives` is how their names begin. Anybody may
-- have written the counts: of more than 10,000 holds the time of the lock stays, too.
local function rw_settle(lock, mode, lives, channel)
  local fields, longest, most = redis.call('HGETALL', lock), 0, 10000
  for i = 1, #fields, 2 do
    local holds = math.max(0, tonumber(fields[i + 1]) or 0)
    most = most - holds
    if most < 0 then return end
    for hold = 1, holds do
      longest = math.max(longest, redis.call('PTTL', lives .. fields[i] .. ':rwlock_timeout:' .. hold))
    end
  end
  if longest > 0 then
    redis.call('PEXPIRE', lock, longest)
  elseif mode == 'read' or #fields == 2 then
    redis.call('DEL', lock)
    tell(channel, '0')
  end
end
