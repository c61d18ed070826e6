-- Takes all permits away that are left when the first in the queue have got theirs: from now on there are as many as are out.
-- `offered`: as in acquire.
-- Reply: how many there were, found by this copy of the request or an earlier one; 0 there were none, and nothing was done; an error
-- MISFIT when the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local done = KEYS[5]
local answered = {unpack(KEYS, 6)}
local offered = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
local done_ms = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include once
-- @include permits
local before = redis.call('GET', done)
if before then return tonumber(before) end
local spoilt = look(offered)
if spoilt then return spoilt end
drop_expired()
pcall(let_in, grant_ms)  -- as in release
end_empty()
local left = math.max((limit or 0) - out, 0)
if left == 0 then
  redis.pcall('SET', done, '0', 'PX', done_ms)  -- an earlier copy that comes later is to find none, too
  return 0
end
local _, failure = once(done, left, done_ms, answered, 'SET', size, string.format('%.0f', out))
if failure then return failure end
set_limit(out)
return left
