-- Ends a bid: the permits that it has taken go back, and no copy of its request that is still to come takes any.
-- Reply: 1 it had some; 0 it had none.
local counter = KEYS[1]
local done = KEYS[2]
local publish = ARGV[1]
local channel = ARGV[2]
local done_ms = ARGV[3]
-- @include once
-- @include tell
-- @include tell_number
local has = tonumber(redis.call('GET', done) or 0) or 0
if has == 0 or redis.call('EXISTS', counter) == 0 then
  redis.call('SET', done, 'given up', 'PX', done_ms)
  return 0
end
local left, failure = once(done, 'given up', done_ms, {}, 'INCRBY', counter, has)
if failure then return failure end
tell_number(channel, left)
return 1
