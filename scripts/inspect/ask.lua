-- Is the lock still `owner`'s, or one of its holds if it is one of Redisson's? With `mode` "ask" a key beside it asks to give it
-- back, for two seconds, and a hint in the inbox of the owner's client has that look at the key; with "look", nothing is sent.
-- Reply: how many heard it, of those who listen at this server (0 also for "look", and where the right to publish is missing);
-- -1 the key is gone; -2 it is somebody else's.
local lock = KEYS[1]
local asked = KEYS[2]
local owner = ARGV[1]
local mode = ARGV[2]
-- @include holder_on_either_wire
local holder = holder_of(lock, string.match(asked, '^(.*)asked:') .. 'readers')
if holder ~= owner then
  redis.call('DEL', asked)
  return holder and -2 or -1
end
if mode ~= 'ask' then return 0 end
redis.call('SET', asked, '1', 'PX', '2000')
local heard = redis.pcall('PUBLISH', 'holdfast_inbox:' .. string.sub(owner, 1, 36), 'asked ' .. string.sub(owner, 38))
return type(heard) == 'table' and 0 or heard
