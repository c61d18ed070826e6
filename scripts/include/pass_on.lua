-- @needs found_by, hold, prolong, tell
-- @leaves pass_on
-- Gives a lock back and, unless others heard of it, takes it for `next`. Returns how `owner` found it: 1, or also when `next`
-- has it already (a request sent again); and what to reply when it stays free.
local function pass_on(lock, owner, channel, own_ears, next, ttl_ms)
  if found_by(next, lock) == 1 then
    prolong(lock, ttl_ms)
    return 1
  end
  local found = found_by(owner, lock)
  if found ~= 1 then return found end
  redis.call('HDEL', lock, owner)
  local heard = tell(channel, '0')
  if not heard or heard > tonumber(own_ears) then return 1, {2, 2, -1, 0, 0, '', -1} end
  hold(lock, next, ttl_ms)
  return 1
end
