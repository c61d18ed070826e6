-- Is the lock still `owner`'s, or one of its holds if it is one of Redisson's? With `mode` "ask" a key beside it asks to give it
-- back, for two seconds, and a hint in the inbox of the owner's client has that look at the key; with "look", nothing is sent.
-- Reply: {how many heard it, of those who listen at this server (0 also for "look", and where the right to publish is missing),
-- milliseconds until the hold ends unless it is renewed, negative: never}; -1 the key is gone; -2 it is somebody else's.
local lock = KEYS[1]
local asked = KEYS[2]
local owner = ARGV[1]
local mode = ARGV[2]
-- @include holder_on_either_wire
-- @include micros
local readers = string.match(asked, '^(.*)asked:') .. 'readers'
local holder = holder_of(lock, readers)
if holder ~= owner then
  redis.call('DEL', asked)
  return holder and -2 or -1
end
-- Of several that share a lock the key lives as long as the last one.
local function left_ms()
  local function of(set, member)
    local ends = redis.pcall('ZSCORE', set, member)
    return type(ends) == 'string' and math.max(math.floor(ends - micros() / 1000), 0)
  end
  local kind = redis.call('TYPE', lock).ok
  if kind == 'zset' then return of(lock, owner) end
  if kind == 'string' and redis.call('GET', lock) == 'holdfast_readers' then return of(readers, owner .. ':r') or of(readers, owner .. ':u') end
  return redis.call('PTTL', lock)
end
local left = left_ms()
if mode ~= 'ask' then return {0, left} end
redis.call('DEL', asked)  -- first: at maxmemory SET isn't refused behind it
redis.call('SET', asked, '1', 'PX', '2000')
local heard = redis.pcall('PUBLISH', 'holdfast_inbox:' .. string.sub(owner, 1, 36), 'asked ' .. string.sub(owner, 38))
return {type(heard) == 'table' and 0 or heard, left}
