-- Gives the lock back while another caller of the same process waits for it (`next`): one request for both. If nobody
-- waits elsewhere `next` gets the lock; otherwise the first of the others is granted it, however short it has waited, since
-- its turn has come, and `next` joins the queue.
-- Reply: {0} the key was gone, {-1} it is somebody else's (in both cases nothing was done for `next`);
-- {1, first token, how many} `next` holds; {2, and all of busy_reply, with the token counter before} `next` is queued.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
local next = ARGV[4]
local ttl_ms = ARGV[5]
local tokens = ARGV[6]
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- @include pass_exclusive
redis.call('DEL', lock)
if wake_next(lock, counter, queue, 0, grant_ms) == 'granted' then
  local ticket = join_queue(queue, next, '', 0)
  return {2, unpack(busy_reply(lock, counter, queue, redis.call('GET', lock), last, redis.call('ZRANK', queue, next), ticket))}
end
redis.call('SET', lock, next, 'PX', ttl_ms)
return {1, take_tokens(counter, redis.call('GET', counter), tokens)}
