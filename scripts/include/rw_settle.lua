-- @needs tell
-- @leaves rw_settle
-- After a reader has left: the lock lives as long as the longest hold of those that are still in it, and ends if there is
-- none; a writer's time stays as it is. Each hold of each reader has a key of its own: `lives` is how their names begin.
local function rw_settle(lock, mode, lives, channel)
  local fields, longest = redis.call('HGETALL', lock), 0
  for i = 1, #fields, 2 do
    for hold = 1, tonumber(fields[i + 1]) or 0 do
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
