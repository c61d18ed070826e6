-- Gives each reader that still is in, and its lock, a ttl, "at least" or "exactly" as `mode` says; the lock keeps a longer one when
-- others are in it. `keys` are all locks, then the key of each one's hold. A reader whose hold is over is taken out where others
-- are left to keep the lock.
-- Reply: the places (from 1) of those that are lost: n when the hold or the lock is gone, -n when others have the lock; and
-- {n, what was left} for those whose lock was to end well before their hold. Redisson's readers cut it short like that, again and
-- again.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local mode = ARGV[2]
local owners = {unpack(ARGV, 3)}
-- @include prolong
local lost = {}
for n, owner in ipairs(owners) do
  local lock, life = keys[n], keys[#owners + n]
  local is_in = redis.pcall('HEXISTS', lock, owner) == 1
  if is_in and redis.call('EXISTS', life) == 1 then
    local left = redis.call('PTTL', lock)
    if left < 0.9 * redis.call('PTTL', life) then lost[#lost + 1] = {n, left} end
    local alone = redis.call('HLEN', lock) == 2
    prolong(life, ttl_ms, mode)
    prolong(lock, ttl_ms, alone and mode)
  else
    local held_by_others = not is_in and redis.call('EXISTS', lock) == 1
    lost[#lost + 1] = held_by_others and -n or n
    if is_in and redis.call('HLEN', lock) > 2 then redis.call('HDEL', lock, owner) end
  end
end
return lost
