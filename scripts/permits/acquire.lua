-- Takes `amount` permits for one owner, if so many are left and nobody waits who came earlier. `offered` is how many there are
-- altogether where nobody has said so (0: the caller doesn't know either). Permits whose time is over are left. With `mode` "join" the
-- caller then waits in the queue, at the place where it belongs, having waited for `waited_us` by its own clock; with "ask" it
-- doesn't. Who has them already (a request sent again, or a grant whose message it missed) keeps them, with a full ttl.
-- Effects when granted: the owner in the set of the name, a fencing token taken, the owner out of the queue. Others for whom there
-- is room, too, are let in and told.
-- Reply: granted, {token, 1}; busy, {milliseconds until the first has to give its permits back, -2: nobody has any; callers
-- ahead in the queue, -1 for "ask"; ticket; token counter; owner of that first; -1; how many there are, -1: nobody has said; how
-- many are out}; an error MISFIT when the key is something else.
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
-- Enough are left, nobody waits, and nobody's time is over: first, and without the functions below, which cost more to make.
local first = redis.pcall('ZRANGE', lock, 0, 1, 'WITHSCORES')
local last = redis.call('GET', counter)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
if last and not first.err and redis.call('EXISTS', queue) == 0 then
  local marker = first[1]
  if not marker then
    local known = redis.call('GET', size) or (tonumber(offered) > 0 and offered)
    marker = known and 'holdfast_permits:' .. known
  end
  local limit = tonumber(marker and string.match(marker, '^holdfast_permits:(%d+)$'))
  local out = first[2] and -first[2] or 0
  local time = redis.call('TIME')
  local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  if limit and out + amount <= limit and (not first[4] or tonumber(first[4]) > now_ms) then
    local many = tonumber(amount) > 1
    local entry = {-out - amount, marker, string.format('%.0f', now_ms + ttl_ms), owner}
    if many then
      entry[5], entry[6] = string.format('%.0f', 8000000000000000 + amount), owner .. ':p'
    end
    local added = redis.call('ZADD', lock, unpack(entry))
    if not first[1] or redis.call('PTTL', lock) < tonumber(ttl_ms) then redis.call('PEXPIRE', lock, ttl_ms) end
    if added == (first[1] and 1 or 2) + (many and 1 or 0) then
      local token = math.max(last + 1, time[1] * 1000000 + time[2])
      redis.call('SET', counter, string.format('%.0f', token), 'EX', 86400)
      return {token, 1}
    end
    redis.call('ZADD', lock, -out, marker)  -- it has them already
  end
end
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include permits
local spoilt = look(offered)
if spoilt then return spoilt end
local number = tonumber(amount)
local waiting = redis.call('ZCARD', queue) > 0  -- before anything is written: another kind of key ends the script here
drop_expired()
local mine, clear = redis.call('ZSCORE', lock, owner), not waiting
if mine then
  redis.call('ZADD', lock, string.format('%.0f', now_ms() + ttl_ms), owner)
  keep_for(ttl_ms)
  if waiting then redis.call('ZREM', queue, owner, owner .. ':p') end
elseif waiting or not limit or out + number > limit then
  if mode == 'join' then
    local waiters = redis.call('ZCOUNT', queue, '-inf', string.format('(%.0f', heavy))
    ticket = join_queue(queue, owner, ticket, waited_us, waiters - 1)
    if number > 1 then redis.call('ZADD', queue, string.format('%.0f', heavy + number), owner .. ':p') end
  end
  mine, clear = let_in(grant_ms, owner, ttl_ms)
end
if not mine and clear and limit and out + number <= limit then
  put_in(owner, number, ttl_ms)
  mine = true
end
if mine then return {take_tokens(counter, redis.call('GET', counter), 1)} end
local holder, ends_ms = drop_expired()
local left_ms = holder and ends_ms - now_ms() or -2
last = tonumber(redis.call('GET', counter) or 0)
local altogether = limit or -1
end_empty()
if mode == 'ask' then return {left_ms, -1, 0, last, holder or '', -1, altogether, out} end
return {left_ms, redis.call('ZRANK', queue, owner), ticket, last, holder or '', -1, altogether, out}
