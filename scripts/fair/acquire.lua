-- Takes the lock if it is the caller's turn: it is free, and nobody who can be reached asked earlier; or it is the caller's already (a
-- request sent again, or a grant whose message it missed). A free lock that others have waited for longer is granted to the
-- first of them. With `mode` "join" the caller then waits in the queue, at the place where it belongs, having waited for
-- `waited_us` by its own clock; with "ask" it doesn't.
-- Effects when granted: the lock key with its ttl, `tokens` fencing tokens taken, the caller out of the queue.
-- Reply: granted, {first token, how many}; busy, see busy_reply, the second and third -1 and 0 for "ask"; an error WRONGTYPE that
-- names the type when the key is not a lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local tokens = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local waited_us = ARGV[6]
local grant_ms = ARGV[7]
local publish = ARGV[8]
-- @include take_unqueued
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- Before anything is written: side keys of another kind end the script here.
local last = redis.call('GET', counter)
local queued = redis.call('ZSCORE', queue, owner)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then
  return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', lock).ok)
end
-- A free lock without a queue is taken as it is: there is no order to keep.
if holder ~= owner and (holder or redis.call('EXISTS', queue) == 1) then
  if mode == 'join' then ticket = join_queue(queue, owner, ticket, waited_us) end
  if not holder then
    wake_next(lock, counter, queue, 0, grant_ms, owner)
    last = redis.call('GET', counter)
    holder = redis.call('GET', lock)
  end
  if holder then
    if mode == 'ask' then return busy_reply(lock, counter, queue, holder, last, -1, 0) end
    return busy_reply(lock, counter, queue, holder, last, redis.call('ZRANK', queue, owner), ticket)
  end
  queued = true
end
if holder == owner then
  redis.call('PEXPIRE', lock, ttl_ms)
else
  redis.call('SET', lock, owner, 'PX', ttl_ms)
end
if queued then redis.call('ZREM', queue, owner) end
return {take_tokens(counter, last, tokens)}
