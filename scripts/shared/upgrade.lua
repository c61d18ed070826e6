-- Turns an upgrade lease (`upgrade`, one of the readers) into a writer (`owner`), once no other reader is in. With `mode` "join" the
-- writer waits at the very head of the queue, where its id ends in ':w', having waited for `waited_us`; with "ask" it doesn't.
-- Effects when granted: the lock is the writer's, with a full ttl, and a fencing token is taken. The set keeps the upgrade lease, and
-- who writes in its place (':w'), until the writer's client has heard of it, or gives up: see renew and stay. The upgrade lease gets
-- no time by that: its holder may have given it back, or kept it for a while, before this request came (again).
-- Reply: granted, {token, 1}; busy, {ms until the last of the others is over, callers ahead in the queue, ticket, token counter, that
-- reader, -1}, the second and third -1 and 0 for "ask"; an error LOST when the upgrade lease isn't in, or the writer has given up
-- already, or a later one writes (late copies); an error WRONGTYPE that names the type when the key is not a lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local given_up = KEYS[5]
local owner = ARGV[1]
local upgrade = ARGV[2]
local ttl_ms = ARGV[3]
local mode = ARGV[4]
local ticket = ARGV[5]
local waited_us = ARGV[6]
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include gave_up
-- Before anything is written: side keys of another kind end the script here.
local last = redis.call('GET', counter)
redis.call('ZCARD', queue)
local ends = redis.call('ZSCORE', readers, upgrade)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', lock).ok) end
local now_ms, writer = math.floor(micros() / 1000), owner .. ':w'
if holder ~= owner then
  -- An earlier try of the same client may have been granted, and not been given up yet. A later one is what its client knows of.
  local in_place = holder == 'holdfast_readers' or (holder and redis.call('ZSCORE', readers, holder .. ':w')
    and tonumber(string.sub(holder, 38)) < tonumber(string.sub(owner, 38)))
  if not in_place or not ends or tonumber(ends) <= now_ms or gave_up(given_up, owner) then
    return redis.error_reply('LOST the upgrade lease is not in')
  end
end
-- Of the two that last longest, the one that isn't the upgrade lease.
local last_two = holder == 'holdfast_readers' and redis.call('ZRANGE', readers, '-2', '-1', 'WITHSCORES') or {}
local n = last_two[3] == upgrade and 1 or 3
local left_ms, ahead = (last_two[n + 1] or 0) - now_ms, -1
if left_ms > 0 then
  if mode == 'ask' then
    ticket = 0
  else
    ticket = join_queue(queue, writer, ticket, waited_us)
    ahead = redis.call('ZRANK', queue, writer)
  end
  return {left_ms, ahead, ticket, tonumber(last) or 0, last_two[n], -1}
end
local until_ms = string.format('%.0f', now_ms + ttl_ms)
redis.call('DEL', readers)
if ends then redis.call('ZADD', readers, ends, upgrade) end
redis.call('ZADD', readers, until_ms, writer)
redis.call('PEXPIRE', readers, ttl_ms)
redis.call('SET', lock, owner, 'PX', ttl_ms)
redis.call('ZREM', queue, writer)
return {take_tokens(counter, last, 1)}
