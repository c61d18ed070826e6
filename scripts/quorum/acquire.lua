-- The vote of one of several masters: exclusive/acquire, but for the tokens, which follow the newest one that this master has,
-- or the caller has seen (`newest`). `number` grows from request to request of a client; 0 is the first ask of this owner here.
-- Effects when granted: the lock key with its ttl, `tokens` fencing tokens taken, the caller out of the queue; unless it is 0, the
-- number noted in `mark`, for a day.
-- Reply: granted, {first token, how many}; busy, see busy_reply, the second and third -1 and 0 for "ask", or when a newer ask has
-- been granted (nothing was done); an error WRONGTYPE that names the type when the key is not a lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local mark = KEYS[4]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local newest = ARGV[6]
local number = ARGV[7]
-- @include micros
-- @include count_on
-- @include join_queue
-- @include busy_reply
-- @include newest_ask
if tonumber(number) < newest_ask(mark, owner) then return busy_reply(lock, counter, queue, owner, false, -1, 0) end
-- @include take_exclusive
if number ~= '0' then redis.call('SET', mark, owner .. ' ' .. number, 'EX', '86400') end
return {count_on(counter, last, newest, tokens)}
