-- @needs holder_of, hold, prolong
-- @leaves take
-- Takes the lock if it is free, or `owner`'s already (a request sent again: its count stays). Returns nothing when it is taken;
-- otherwise what to reply: {pttl, -1, 0, 0, owner, -1}, or the error of holder_of.
local function take(lock, owner, ttl_ms)
  local holder, misfit = holder_of(lock)
  if misfit then return misfit end
  if not holder then
    hold(lock, owner, ttl_ms)
  elseif holder == owner then
    prolong(lock, ttl_ms)
  else
    return {redis.call('PTTL', lock), -1, 0, 0, holder, -1}
  end
end
