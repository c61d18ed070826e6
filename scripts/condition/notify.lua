-- Notifies those that wait longest, `most` of them at most.
-- Reply: how many; the same for a copy of the request that comes later, but that one may be the first to find somebody.
local lock = KEYS[1]
local queue = KEYS[2]
local waiting = KEYS[3]
local counting = KEYS[4]
local done = KEYS[5]
local answered = {unpack(KEYS, 6)}
local most = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
local done_ms = ARGV[4]
-- @include micros
-- @include to_inbox
-- @include condition
local before = redis.call('GET', done)
if before then return tonumber(before) end
let_go_of_dead()
local count, limit = 0, tonumber(most)
while count < limit and notify_first() == 1 do count = count + 1 end
if count > 0 then
  redis.call('SET', done, count, 'PX', done_ms)
  if #answered > 0 then redis.pcall('DEL', unpack(answered)) end
end
return count
