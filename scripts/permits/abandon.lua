-- Ends a wait for permits: the caller leaves the queue, gives back what it was granted meanwhile, and makes room for those behind it.
-- `remember_ms`: for so long copies of its requests may still come, which is noted for an owner without a lease; 0: none can.
-- Reply: 1 it had permits, and has given them back; 0 it hadn't, or the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
local remember_ms = ARGV[4]
-- @include lasting
-- @include abandoned
if abandoned and remember_ms ~= '0' then
  redis.call('DEL', abandoned)  -- a server without memory allows the SET behind it
  redis.call('SET', abandoned, '1', 'PX', remember_ms)
end
if redis.call('EXISTS', lock, queue) == 0 then return 0 end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include permits
-- @include end_with_last
if type(redis.pcall('ZCARD', queue)) == 'table' then return 0 end
redis.call('ZREM', queue, owner, owner .. ':p')
if look(0) then return 0 end
local held = take_out(owner)
drop_expired()
pcall(let_in, grant_ms)  -- as in release
if abandoned and held then end_with_last() end
end_empty()
return held and 1 or 0
