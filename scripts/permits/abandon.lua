-- Ends a wait for permits: the caller leaves the queue, gives back what it was granted meanwhile, and makes room for those behind it.
-- Reply: 1 it had permits, and has given them back; 0 it hadn't, or the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
if redis.call('EXISTS', lock, queue) == 0 then return 0 end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include permits
if type(redis.pcall('ZCARD', queue)) == 'table' then return 0 end
redis.call('ZREM', queue, owner, owner .. ':p')
if look(0) then return 0 end
local mine = take_out(owner)
drop_expired()
pcall(let_in, grant_ms)  -- as in release
end_empty()
return mine and 1 or 0
