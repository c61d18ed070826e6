-- Redisson's RLock. Takes the lock if it is free, or is the caller's already; its hold count is 1, however often it is asked
-- for. Without tokens: the caller may hand it on as often as it asks for.
-- Effects when granted: the hash with the owner, and its ttl.
-- Reply: granted, `handoffs`; busy, {pttl, -1, 0, 0, owner, -1}; an error MISFIT that says what the key holds instead.
local lock = KEYS[1]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local handoffs = ARGV[3]
-- The common case first, and in full: each function that is defined or called costs the server a fraction of a command, and so
-- does a list as reply.
if redis.pcall('HLEN', lock) == 0 then
  redis.call('HSET', lock, owner, '1')
  redis.call('PEXPIRE', lock, ttl_ms)
  return handoffs + 0
end
-- @include hold_hash
-- @include owner_hash
-- @include prolong
-- @include take_hash
return take(lock, owner, ttl_ms) or tonumber(handoffs)
