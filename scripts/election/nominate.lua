-- The leader names who is to follow it: a waiter, whose process can be reached. Its release then grants that one the lock first.
-- Reply: 1; 2 that one doesn't wait; 3 nobody listens in its inbox: its process is gone; 0 the lock is gone; -1 it is somebody else's.
local lock = KEYS[1]
local queue = KEYS[2]
local leader = KEYS[3]
local owner = ARGV[1]
local candidate = ARGV[2]
local publish = ARGV[3]
-- @include to_inbox
local holder = redis.pcall('GET', lock)
if holder ~= owner then return holder and -1 or 0 end
if type(redis.pcall('ZSCORE', queue, candidate)) ~= 'string' then return 2 end
if publish ~= 'UNCOUNTED' then  -- otherwise other nodes may have its inbox
  local heard = redis.pcall('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', inbox_of(candidate, queue))
  if not heard.err and heard[2] == 0 then return 3 end
end
redis.call('HSET', leader, 'next', candidate)
redis.call('PEXPIRE', leader, math.max(redis.call('PTTL', lock), 1))
return 1
