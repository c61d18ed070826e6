-- Gives each owner that still has permits a full ttl: owners[i] has permits of locks[i].
-- Reply: the places (from 1) of those that are lost: n when it has none any more, -n when the key is something else.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
-- @include micros
local now_ms, lost = math.floor(micros() / 1000), {}
for n, owner in ipairs(owners) do
  local lock = locks[n]
  local ends = redis.pcall('ZSCORE', lock, owner)
  if type(ends) == 'string' and tonumber(ends) > now_ms then
    -- At maxmemory ZADD is refused, unless the script has written before, and this needs no memory.
    redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), ttl_ms))
    redis.call('ZADD', lock, string.format('%.0f', now_ms + ttl_ms), owner)
  else
    lost[#lost + 1] = type(ends) == 'table' and -n or n
  end
end
return lost
