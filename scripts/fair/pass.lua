-- Gives the lock back while another caller of the same process waits for it (`next`, which has waited for `waited_us`): one
-- request for both. `next` gets in line with the waiters of all processes, and the first that can be reached gets the lock:
-- perhaps `next` itself, otherwise by message.
-- Reply: {0} the key was gone, {-1} it is somebody else's (in both cases nothing was done for `next`);
-- {1, first token, how many} `next` holds; {2, and all of busy_reply} `next` is queued.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
local next = ARGV[4]
local ttl_ms = ARGV[5]
local tokens = ARGV[6]
local waited_us = ARGV[7]
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- @include pass_exclusive
local ticket = join_queue(queue, next, '', waited_us)
local outcome = wake_next(lock, counter, queue, 0, grant_ms, next)
last = redis.call('GET', counter)
if outcome == 'granted' then
  return {2, unpack(busy_reply(lock, counter, queue, redis.call('GET', lock), last, redis.call('ZRANK', queue, next), ticket))}
end
redis.call('SET', lock, next, 'PX', ttl_ms)
redis.call('ZREM', queue, next)
return {1, take_tokens(counter, last, tokens)}
