-- Gives each permit that hasn't expired a ttl, "at least" or "exactly" as `mode` says: ids[i] is one of all_permits[i].
-- Reply: the places (from 1) of those that are lost: n when it has expired or was given back, -n when there is something else where
-- the permits should be.
local all_permits = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local mode = ARGV[2]
local ids = {unpack(ARGV, 3)}
-- @include micros
local now = math.floor(micros() / 1000)
local lost = {}
for n, permits in ipairs(all_permits) do
  local score = redis.pcall('ZSCORE', permits, ids[n])
  if type(score) == 'table' then
    lost[#lost + 1] = -n
  elseif not score or tonumber(score) <= now then
    lost[#lost + 1] = n
  elseif mode == 'exactly' or tonumber(score) < now + ttl_ms then
    redis.call('ZREM', permits, '')  -- nobody's: at maxmemory ZADD isn't refused behind it
    redis.call('ZADD', permits, now + ttl_ms, ids[n])
  end
end
return lost
