-- Gives each reader that still is in a full ttl: owners[i] reads locks[i]; `keys` are all locks, then the readers of each. An upgrade
-- lease is in also while its writer has the lock in its place, as long as its client hasn't heard of that: see upgrade.
-- Effects: the lock's ttl is that of the longest hold in it.
-- Reply: the places (from 1) of those that are lost: n when the hold or the lock is gone, -n when somebody writes.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
-- @include micros
local now_ms, lost = math.floor(micros() / 1000), {}
for n, owner in ipairs(owners) do
  local lock, readers = keys[n], keys[#owners + n]
  local holder = redis.pcall('GET', lock)
  local is_in = holder == 'holdfast_readers'
    or (type(holder) == 'string' and string.sub(owner, -2) == ':u' and type(redis.pcall('ZSCORE', readers, holder .. ':w')) == 'string')
  local ends = is_in and redis.pcall('ZSCORE', readers, owner)
  if type(ends) == 'string' and tonumber(ends) > now_ms then
    -- At maxmemory ZADD is refused, unless the script has written before, and this needs no memory.
    redis.call('PEXPIRE', readers, ttl_ms)
    redis.call('ZADD', readers, string.format('%.0f', now_ms + ttl_ms), owner)
    local left_ms = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2] - now_ms
    redis.call('PEXPIRE', lock, left_ms)
    redis.call('PEXPIRE', readers, left_ms)
  else
    lost[#lost + 1] = holder and holder ~= 'holdfast_readers' and -n or n
  end
end
return lost
