-- Asks whether a waiter was notified, and says that it is alive. What others were given, and haven't heard, is passed on.
-- Reply: it doesn't wait any more, {1, 1} since it was notified, {0, 1} for another reason; it waits, {ms until it has to ask again, 0,
-- 0, 0, '', -1}.
local lock = KEYS[1]
local queue = KEYS[2]
local waiting = KEYS[3]
local counting = KEYS[4]
local owner = ARGV[1]
local listens = ARGV[2]
local credit_ms = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
-- @include micros
-- @include to_inbox
-- @include condition
if redis.call('ZSCORE', waiting, owner) then
  local life_ms = math.max(60000, credit_ms)
  -- First: at maxmemory ZADD isn't refused behind it.
  redis.call('PEXPIRE', waiting, life_ms)
  redis.call('ZADD', counting, string.format('%.0f', now_ms() + credit_ms), owner)
  redis.call('PEXPIRE', counting, life_ms)
  let_go_of_dead()
end
local since = redis.call('ZSCORE', waiting, owner)
if not since then return {redis.call('ZREM', counting, owner), 1} end
if listens == 'listens' then redis.call('ZADD', waiting, string.format('%.0f', since - since % 2 + 1), owner) end
return {redis.call('ZRANGE', counting, '0', '0', 'WITHSCORES')[2] - now_ms(), 0, 0, 0, '', -1}
