-- Gives each owner that still has permits a full ttl: owners[i] has permits of locks[i].
-- Reply: the places (from 1) of those that are lost: n when it has none any more, -n when the key is something else.
local locks = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local owners = {unpack(ARGV, 2)}
-- @include micros
-- @include renew_permits
local now_ms, lost = math.floor(micros() / 1000), {}
for n, owner in ipairs(owners) do
  local has, ends = has_permits(locks[n], owner, now_ms)
  if has then
    keep_permits(locks[n], owner, now_ms, ttl_ms)
  else
    lost[#lost + 1] = type(ends) == 'table' and -n or n
  end
end
return lost
