-- Says how many permits there are altogether: `number` ("set"); the same unless it was said before ("try"); or as many more than there
-- are ("add"). `offered`: as in acquire. Where more are out they become fewer as they come back. New ones go to the first in the queue.
-- Reply: 1 it was said, by this copy of the request or an earlier one; 0 it had been said before; an error MISFIT when the key is
-- something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local done = KEYS[5]
local answered = {unpack(KEYS, 6)}
local mode = ARGV[1]
local number = ARGV[2]
local offered = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
local done_ms = ARGV[6]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include once
-- @include permits
if redis.call('EXISTS', done) == 1 then return 1 end
local spoilt = look(offered)
if spoilt then return spoilt end
if mode == 'try' and redis.call('EXISTS', lock, size) > 0 then return 0 end
local wanted = tonumber(number)
if mode == 'add' then wanted = math.max(0, math.min((limit or 0) + wanted, 2147483647)) end
local _, failure = once(done, 1, done_ms, answered, 'SET', size, string.format('%.0f', wanted))
if failure then return failure end
set_limit(wanted)
drop_expired()
pcall(let_in, grant_ms)  -- as in release
end_empty()
return 1
