-- Says who leads, and with what value, beside the lock that the leader holds. Others go by it only while that lock is still its owner's.
-- Effects when the lock is the caller's: the hash `leader`, for `ttl_ms`; a message to those who observe.
-- Reply: 1; 0 the lock is gone; -1 it is somebody else's; an error WRONGTYPE when the key beside it is no hash.
local lock = KEYS[1]
local leader = KEYS[2]
local owner = ARGV[1]
local term = ARGV[2]
local value = ARGV[3]
local ttl_ms = ARGV[4]
local publish = ARGV[5]
-- @include tell_observers
local holder = redis.pcall('GET', lock)
if holder ~= owner then return holder and -1 or 0 end
local kind = redis.call('TYPE', leader).ok
if kind ~= 'hash' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the value of the leader is a ' .. kind)
end
redis.call('DEL', leader)
redis.call('HSET', leader, 'owner', owner, 'term', term, 'value', value)
redis.call('PEXPIRE', leader, ttl_ms)
tell_observers(leader, term)
return 1
