-- Deletes a lock under its holder, if it still is what was seen there: `owner`, of which the first 1024 bytes count. Then
-- the first waiter gets it, however short it has waited, as it would from a release that is long overdue. Of a leader the value goes,
-- too; those who observe are told, and the candidate that it has named comes first.
-- The word of readers is deleted only where none of them is known: the server has lost their set.
-- Reply: 1 deleted; 0 the key was gone; -1 it holds something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include tell_observers
-- @include step_down
local kind = redis.call('TYPE', lock).ok
if kind == 'none' then return 0 end
if kind ~= 'string' or redis.call('GETRANGE', lock, '0', '1023') ~= owner then return -1 end
if owner == 'holdfast_readers' then
  is_beside(lock, readers_beside(queue))
  local reading = redis.pcall('ZCOUNT', readers_beside(queue), micros() / 1000, '+inf')
  if type(reading) == 'number' and reading > 0 then return -1 end
end
local leader = string.sub(queue, 1, -6) .. 'leader'
if redis.call('EXISTS', leader) == 1 then step_down(lock, queue, leader, owner) end
redis.call('DEL', lock)
-- Should a side key be spoilt, the lock is free all the same; the waiters find out by themselves.
pcall(wake_next, lock, counter, queue, 0, grant_ms)
return 1
