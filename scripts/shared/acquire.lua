-- Lets a reader in: if the lock is free or others read, and nobody who can be reached waits to write, or the caller `overtakes` those.
-- One that asks for an upgrade lease (its id ends in ':u') waits while another has it, too; readers go in past it.
-- A free lock for which others wait is granted to the first of them. With `mode` "join" the caller then waits in the queue, having
-- waited for `waited_us` by its own clock; with "ask" it doesn't. Who is in already (a request sent again, or a grant whose message
-- it missed) stays in.
-- Effects when granted: the lock is the readers', with the longest ttl of them; the caller is in their set and out of the queue.
-- Reply: granted, {the last token given, 1}; busy, see busy_reply, the second and third -1 and 0 for "ask"; an error WRONGTYPE that
-- names the type when the key is not a lock.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local readers = KEYS[4]
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local mode = ARGV[3]
local ticket = ARGV[4]
local waited_us = ARGV[5]
local overtakes = ARGV[6]
local grant_ms = ARGV[7]
local publish = ARGV[8]
-- Nobody waits, and the lock is free and nobody is left from before, or it is the readers' and nobody's time is over: here, before
-- the functions are made, which cost more.
local there = redis.call('EXISTS', lock, queue, readers)
local beside = there == 2 and string.sub(owner, -2) == ':r' and redis.pcall('GET', lock) == 'holdfast_readers'
  and redis.pcall('ZRANGE', readers, '0', '0', 'WITHSCORES')[2]
if there == 0 or beside then
  local last, time = tonumber(redis.call('GET', counter)), redis.call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  if last and last > 1e14 and (not beside or tonumber(beside) > now_ms) then
    local added = redis.call('ZADD', readers, string.format('%.0f', now_ms + ttl_ms), owner) == 1
    if now_ms * 1000 - last > 43200000000 then redis.call('PEXPIRE', counter, '86400000') end  -- as in last_given
    if not beside then
      redis.call('SET', lock, 'holdfast_readers', 'PX', ttl_ms)
      redis.call('PEXPIRE', readers, ttl_ms)
      return {last, 1}
    end
    if added then
      if redis.call('PTTL', lock) < tonumber(ttl_ms) then
        redis.call('PEXPIRE', lock, ttl_ms)
        redis.call('PEXPIRE', readers, ttl_ms)
      end
      return {last, 1}
    end
  end
end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include enter_readers
-- The last token. A counter years behind the clock was lost, and is what the INCR of a fast request made of it: a new token. One that
-- was given half a day ago is by which searches find the lock, which readers have now: it lives for a day from here.
local function last_given(last)
  last = tonumber(last)
  if not last or last <= 1e14 then return take_tokens(counter, last, 1) end
  if micros() - last > 43200000000 then redis.call('PEXPIRE', counter, '86400000') end
  return last
end
-- Before anything is written: side keys of another kind end the script here.
local last = redis.call('GET', counter)
local waiting = redis.call('ZCARD', queue) > 0
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', lock).ok) end
holder = as_readers(lock, readers, holder)
local shared = holder == 'holdfast_readers'
-- Others read, and nobody waits: as above.
if shared and last and not waiting and not is_upgrade(owner) then
  enter(lock, readers, owner, ttl_ms, shared)
  return {last_given(last), 1}
end
-- @include wake_next
-- @include join_queue
-- @include busy_reply
-- @include readers_in_order
-- Whether the caller is in, and its time isn't over.
local function is_reading()
  local until_ms = shared and redis.call('ZSCORE', readers, owner)
  return until_ms and tonumber(until_ms) > micros() / 1000
end
local is_in = is_reading()
local rival, ends
if shared and not is_in and is_upgrade(owner) then rival = upgrade_lease_in(readers) end
if not is_in and ((holder and not shared) or rival or (waiting and overtakes == '')) then
  if mode == 'join' then ticket = join_queue(queue, owner, ticket, waited_us) end
  give_turns(lock, counter, queue, holder, owner, grant_ms)
  last = redis.call('GET', counter)
  holder = redis.call('GET', lock)
  shared = holder == 'holdfast_readers'
  is_in = is_reading()
  if shared and not is_in and is_upgrade(owner) then rival, ends = upgrade_lease_in(readers) end
  if holder and not is_in and (not shared or rival or others_wait(queue)) then
    local place = mode == 'join' and redis.call('ZRANK', queue, owner)
    local reply = busy_reply(lock, counter, queue, holder, last, place or -1, place and ticket or 0)
    if rival then reply[1], reply[5] = ends - math.floor(micros() / 1000), rival end
    return reply
  end
end
enter(lock, readers, owner, ttl_ms, shared)
if waiting then redis.call('ZREM', queue, owner) end
return {last_given(last), 1}
