-- Redisson's RedissonMultiLock over locks of one server: takes all of them, or none, in one step. A lock that is the caller's
-- already is kept.
-- Effects when granted: each hash with the owner, and its ttl.
-- Reply: granted, {0, `handoffs`}; busy, {pttl, -1, 0, 0, owner, -1} of the first busy one; an error MISFIT that says what a key
-- holds instead, and which.
local locks = {unpack(KEYS)}
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local handoffs = ARGV[3]
-- @include owner_hash
-- @include prolong
-- @include hold_hash
-- @include take_hash
local busy
for _, lock in ipairs(locks) do
  local holder, misfit = holder_of(lock)
  if misfit then
    if string.sub(misfit.err, 1, 6) ~= 'MISFIT' then return misfit end
    return redis.error_reply(misfit.err .. ' IN ' .. lock)
  end
  if holder and holder ~= owner then busy = busy or {redis.call('PTTL', lock), -1, 0, 0, holder, -1} end
end
if busy then return busy end
for _, lock in ipairs(locks) do take(lock, owner, ttl_ms) end
return {0, tonumber(handoffs)}
