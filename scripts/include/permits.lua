-- @needs lock, counter, queue, size, publish, micros, take_tokens, inbox_of, to_inbox
-- @leaves heavy, limit, out, now_ms, marker, misfit, as_set, look, weight_in, keep_for, put_in, take_out, drop_expired, is_gone, let_in, set_limit, end_empty
-- Who has permits is in a sorted set under the name itself: owner ids, with the time until which each has its permits (server's
-- clock, milliseconds). First in the set, with a score below zero, stands 'holdfast_permits:<size>'; less that score are out. It goes
-- with the set, so the number is never out of step. Who has more than one permit has a second member, its id and ':p', behind all
-- times; and so has, in the queue and behind all tickets, who waits for more than one. An id that ends in ':l' has permits without a
-- lease, for a hundred years: see give_back.
local heavy = 8000000000000000
local limit, out  -- nil: nobody has said how many there are

local function now_ms() return math.floor(micros() / 1000) end
local function marker() return string.format('holdfast_permits:%.0f', limit) end

-- The error to reply when the key is something else.
local function misfit()
  local kind = redis.call('TYPE', lock).ok
  local holder = kind == 'string' and redis.call('GETRANGE', lock, '0', '99') or ''
  if string.match(holder, '^%-?%d+$') then
    kind = "number (as permits on Redisson's wire are, and were before Holdfast had a format of its own: then delete it, or say"
      .. ' wire=redisson)'
  end
  kind = string.match(holder, '^holdfast_(%a+) ') or kind  -- a latch, or a barrier
  if holder == 'holdfast_readers' or string.sub(holder, 37, 37) == ':' then
    kind = 'lock that is a mutex or shared_mutex'
  end
  return redis.error_reply('MISFIT a ' .. kind .. ', not the permits of a semaphore or expiring_semaphore')
end

-- An owner that came without a script, when nobody had any, is the text of the key, 'holdfast_permit <size> <owner id>': it has one
-- permit until the end of that key. Makes it the first in the set, with the number that somebody has said, or its own; returns whether
-- there was such a one.
local function as_set()
  local holder = redis.pcall('GET', lock)
  if type(holder) ~= 'string' then return false end
  local number, owner = string.match(holder, '^holdfast_permit (%d+) (.+)$')
  local left_ms = number and redis.call('PTTL', lock) or -1
  if left_ms < 0 then return false end
  left_ms = math.max(left_ms, 1)
  local said = redis.pcall('GET', size)
  if type(said) == 'string' and tonumber(said) then number = said end
  redis.call('DEL', lock)
  redis.call('ZADD', lock, '-1', 'holdfast_permits:' .. number, string.format('%.0f', now_ms() + left_ms), owner)
  redis.call('PEXPIRE', lock, left_ms)
  return true
end

-- Looks how many there are, and how many of them are out. Where nobody has said so there are as many as are `offered`, if that isn't
-- 0. Returns the error to reply when the key is something else.
local function look(offered)
  local first = redis.pcall('ZRANGE', lock, '0', '0', 'WITHSCORES')
  if first.err and as_set() then first = redis.call('ZRANGE', lock, '0', '0', 'WITHSCORES') end
  if first.err then return misfit() end
  if not first[1] then
    limit, out = tonumber(redis.call('GET', size) or (tonumber(offered) > 0 and offered)), 0
    return nil
  end
  limit, out = tonumber(string.match(first[1], '^holdfast_permits:(%d+)$')), -first[2]
  return not limit and misfit() or nil
end

local function weight_in(set, owner)
  local score = redis.call('ZSCORE', set, owner .. ':p')
  return score and score - heavy or 1
end

-- The set lasts at least for so long.
local function keep_for(ttl_ms)
  if redis.call('PTTL', lock) < tonumber(ttl_ms) then redis.call('PEXPIRE', lock, ttl_ms) end
end

-- In one command, so that none of it can be missing.
local function put_in(owner, amount, ttl_ms)
  out = out + amount
  local entry = {-out, marker(), string.format('%.0f', now_ms() + ttl_ms), owner}
  if amount > 1 then
    entry[5], entry[6] = string.format('%.0f', heavy + amount), owner .. ':p'
  end
  redis.call('ZADD', lock, unpack(entry))
  keep_for(ttl_ms)
end

-- Returns whether it had any.
local function take_out(owner)
  local amount = weight_in(lock, owner)
  if redis.call('ZREM', lock, owner, owner .. ':p') == 0 then return false end
  out = out - amount
  redis.call('ZADD', lock, -out, marker())
  return true
end

-- Takes those out whose time is over. Returns the one that is next, and until when it has its permits. Where more than are out were
-- taken out, the marker isn't the first any more: then somebody has written into the set, and all the others stay.
local function drop_expired()
  while true do
    local first = redis.call('ZRANGE', lock, '1', '1', 'WITHSCORES')
    if limit and first[1] == marker() then return nil end
    if not first[1] or tonumber(first[2]) > now_ms() then return first[1], first[2] end
    take_out(first[1])
  end
end

-- Whether a waiter's process is gone. One that came a moment ago may not have opened its inbox yet.
local function is_gone(waiter, since)
  if publish == 'UNCOUNTED' or micros() - since < 100000 then return false end
  local heard = redis.pcall('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', inbox_of(waiter, counter))
  return not heard.err and heard[2] == 0
end

-- Gives permits to the first in the queue, for as long as they are enough for it, and tells each. Who wants more than there are
-- altogether stands aside until there are more. One that nobody hears is gone; where the right to publish is missing all
-- stay in the queue. `asker`, if given, is who asks, and is told by the reply: returns whether it has got its permits, for `ttl_ms`;
-- and whether nobody is left but those that stand aside.
local function let_in(grant_ms, asker, ttl_ms)
  local place, granted = 0, false
  while limit do
    local waiter, since = unpack(redis.call('ZRANGE', queue, place, place, 'WITHSCORES'))
    if not waiter or tonumber(since) >= heavy then return granted, true end
    local amount = weight_in(queue, waiter)
    local fits = out + amount <= limit
    if amount > limit then
      place = place + 1
    else
      if fits and waiter == asker then
        put_in(waiter, amount, ttl_ms)
        granted = true
      elseif fits then
        local token = take_tokens(counter, redis.call('GET', counter), 1)
        put_in(waiter, amount, grant_ms)
        local message = string.format('granted %s %.0f 1 %s', string.match(waiter, '^%d+', 38), token, lock)
        local heard = to_inbox(waiter, counter, message)
        local mute = type(heard) == 'table'
        if mute or heard == 0 then take_out(waiter) end
        if mute then return granted end
      elseif out == limit or waiter == asker or not is_gone(waiter, since) then
        return granted
      end
      redis.call('ZREM', queue, waiter, waiter .. ':p')
    end
  end
  return granted
end

local function end_empty()
  if out == 0 then redis.call('DEL', lock) end
end

-- From now on there are so many altogether. The set may be left with nobody in it, by who looked at several names.
local function set_limit(wanted)
  local before = limit and marker()
  limit = wanted
  end_empty()
  if out == 0 or before == marker() then return end
  redis.call('ZADD', lock, -out, marker())
  redis.call('ZREM', lock, before)
end
