-- Takes `amount` permits for one owner, if so many are left and nobody waits who came earlier. `offered` is how many there are
-- altogether where nobody has said so (0: the caller doesn't know either). Permits whose time is over are left. With `mode` "join" the
-- caller then waits in the queue, at the place where it belongs, having waited for `waited_us` by its own clock; with "ask" it
-- doesn't. Who has them already (a request sent again, or a grant whose message it missed) keeps them, with a full ttl.
-- Effects when granted: the owner in the set of the name, a fencing token taken, the owner out of the queue. Others for whom there
-- is room, too, are let in and told.
-- Reply: granted, {token, 1}; busy, see busy_permits, the second and third -1 and 0 for "ask", -2 and 0 for an owner without a lease
-- that has given up, or had them taken away by force: it asks by another id; an error MISFIT when the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local owner = ARGV[1]
local amount = ARGV[2]
local ttl_ms = ARGV[3]
local offered = ARGV[4]
local mode = ARGV[5]
local ticket = ARGV[6]
local waited_us = ARGV[7]
local grant_ms = ARGV[8]
local publish = ARGV[9]
-- @include lasting
-- @include abandoned
if abandoned and redis.call('EXISTS', abandoned) == 1 then return {-2, -2, 0, 0, '', -1, -1, 0} end
-- Enough are left, and nobody waits: here, before the functions are made, which cost more. Owners whose time is over may stay, since
-- nobody needs their permits. Each number that is text already stays text: a script's numbers are written with all their digits.
local there = redis.call('EXISTS', lock, queue, size)
local first = there > 0 and redis.pcall('ZRANGE', lock, '0', '0', 'WITHSCORES') or {}
local keys_beside = first[1] and there - 1 or there
local said = keys_beside == 1 and redis.call('GET', size)  -- otherwise it is the queue
local known = first[1] and string.match(first[1], '^holdfast_permits:(%d+)$')
if not first[1] then known = said or (offered ~= '0' and offered) end
if known and (keys_beside == 0 or said) then
  local last, time = tonumber(redis.call('GET', counter)), redis.call('TIME')
  local now_us = time[1] * 1000000 + time[2]
  local limit, out = tonumber(known), first[2] and -first[2] or 0
  if limit and last and last < now_us and out + amount <= limit then
    local ends, many = string.format('%.0f', math.floor(now_us / 1000) + ttl_ms), amount ~= '1'
    local marker = first[1] or 'holdfast_permits:' .. known
    local taken = first[1] and -out - amount or '-' .. amount
    local added
    if many then
      added = redis.call('ZADD', lock, taken, marker, ends, owner, string.format('%.0f', 8000000000000000 + amount), owner .. ':p')
    else
      added = redis.call('ZADD', lock, taken, marker, ends, owner)
    end
    if not first[1] then
      redis.call('PEXPIRE', lock, ttl_ms)
    elseif redis.call('PTTL', lock) < tonumber(ttl_ms) then
      redis.call('PEXPIRE', lock, ttl_ms + 1000)  -- so that it needn't be done each time
    end
    if added == (many and 2 or 1) + (first[1] and 0 or 1) then
      redis.call('SET', counter, string.format('%s%06d', time[1], time[2]), 'EX', '86400')
      return {now_us, 1}
    end
    redis.call('ZADD', lock, -out, marker)  -- it has them already
  end
end
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include permits
-- @include ask_permits
local last = redis.call('GET', counter)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
local spoilt = look(offered)
if spoilt then return spoilt end
local number = tonumber(amount)
local waiting = redis.call('ZCARD', queue) > 0  -- before anything is written: another kind of key ends the script here
drop_expired()
local held, clear = redis.call('ZSCORE', lock, owner), not waiting
if held then
  keep_in(owner, ttl_ms)
  if waiting then redis.call('ZREM', queue, owner, owner .. ':p') end
elseif waiting or not limit or out + number > limit then
  if mode == 'join' then ticket = join_permit_queue(owner, number, ticket, waited_us) end
  held, clear = let_in(grant_ms, owner, ttl_ms)
end
if not held and clear and limit and out + number <= limit then
  put_in(owner, number, ttl_ms)
  held = true
end
if held then return {take_tokens(counter, redis.call('GET', counter), 1)} end
local asks = mode == 'ask'
local reply = busy_permits(asks and -1 or redis.call('ZRANK', queue, owner), asks and 0 or ticket)
end_empty()
return reply
