-- Ends a try to turn an upgrade lease into a writer (`owner`): it leaves the queue, and readers that wait behind it go in. If it
-- writes already it is the upgrade lease again, with the time that it has left. Late copies of its requests have no effect from here on.
-- Reply: 1 it wrote; 0 it didn't.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local given_up = KEYS[4]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include gave_up
-- First: it needs no memory, and at maxmemory SET isn't refused behind it.
local queued = redis.call('ZREM', queue, owner .. ':w') == 1
if not gave_up(given_up, owner) then redis.call('SET', given_up, owner, 'EX', '86400') end
local holder = redis.pcall('GET', lock)
-- @include back_to_upgrade
if back_to_upgrade(lock, counter, queue, owner, holder) then return 1 end
if holder == owner then
  -- As in release_exclusive: the upgrade lease is over.
  local fine, outcome = pcall(wake_next, lock, counter, queue, 0, grant_ms)
  if not fine or outcome ~= 'granted' then redis.call('DEL', lock) end
  return 1
end
if queued and as_readers(lock, readers_beside(queue), holder) == 'holdfast_readers' then
  let_readers_in(lock, counter, queue, grant_ms)
elseif not queued and not holder then
  wake_next(lock, counter, queue, 0, grant_ms)
end
return 0
