-- Gives each reader that still is in a full ttl: owners[i] reads locks[i]; `keys` are all locks, then the readers of each. See reads.
-- Effects: the lock's ttl is that of the longest hold in it.
-- Reply: the places (from 1) of those that are lost: n when the hold or the lock is gone, -n when somebody writes.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
-- @include micros
-- @include renew_reading
local now_ms, lost = math.floor(micros() / 1000), {}
for n, owner in ipairs(owners) do
  local lock, readers = keys[n], keys[#owners + n]
  local is_in, holder = reads(lock, readers, owner, now_ms)
  if holder == owner then  -- it has the lock for itself: see as_readers
    redis.call('PEXPIRE', lock, ttl_ms)
  elseif is_in then
    read_on(lock, readers, owner, now_ms, ttl_ms)
  else
    lost[#lost + 1] = holder and holder ~= 'holdfast_readers' and -n or n
  end
end
return lost
