-- Gives back `number` permits without a lease, whoever took them: first those of `takers`, whose callers have them for certain, then
-- of others of `client`, as far as they are among the hundred that were taken first. Where fewer are out the others are new permits, unless permits with leases are out: then nothing is done.
-- `offered`: as in acquire.
-- Reply: 1 done, by this copy of the request or an earlier one; an error MISFIT when the key is something else, or all that is out is
-- leased.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local done = KEYS[5]
local answered = {unpack(KEYS, 6)}
local number = ARGV[1]
local client = ARGV[2]
local offered = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
local done_ms = ARGV[6]
local takers = {unpack(ARGV, 7)}
-- @include once
-- @include lasting
local busy = redis.call('EXISTS', done, queue)
local noted = busy > 0 and redis.call('GET', done)
if noted then return string.find(noted, '^MISFIT') and redis.error_reply(noted) or 1 end
-- Nobody waits, and the first of all has no lease, is this client's, and has so many: here, before the other functions are made, which
-- cost more. Those behind it have none either, and the set is to last for the last of them.
local first = busy == 0 and redis.pcall('ZRANGE', lock, '0', '1', 'WITHSCORES') or {}
local taker = first[3] or ''
if (takers[1] or taker) == taker and string.sub(taker, 1, 36) == client and is_lasting(taker) and string.match(first[1], '^holdfast_permits:%d+$') then
  local many = redis.call('ZSCORE', lock, taker .. ':p')
  local lasts = tonumber(first[4]) > (redis.call('TIME')[1] + 33000000) * 1000  -- as below
  if lasts and tonumber(number) == (many and many - 8000000000000000 or 1) then
    local left = first[2] + number
    local change = left < 0 and {'ZADD', lock, left, first[1]} or {'DEL', lock}
    local _, failure = once(done, 1, done_ms, answered, unpack(change))
    if not failure and left < 0 then redis.call('ZREM', lock, taker, taker .. ':p') end
    return failure or 1
  end
end
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include permits
-- @include end_with_last
local spoilt = look(offered)
if spoilt then return spoilt end
drop_expired()
local wanted, found, chosen, seen = tonumber(number), 0, {}, {}
local function choose(owner)
  if found == wanted or seen[owner] then return end
  seen[owner] = true
  local has = weight_in(lock, owner)
  local given = math.min(has, wanted - found)
  found = found + given
  chosen[#chosen + 1] = {owner, has - given}
end

-- Their times are the last of all, beyond those of any lease, which is for a year at most, and of what a message granted: that isn't
-- anybody's yet, and would be taken again by its client when it asks. Who took them first gives them back first: the last may be owners
-- whose answer is still on its way, or was lost, and that are given up with as many as they took.
local behind = string.format('(%.0f', heavy)
local last = redis.call('ZCOUNT', lock, '-inf', behind) - 1
local rank = last + 1 - redis.call('ZCOUNT', lock, string.format('%.0f', now_ms() + 33000000000), behind)
local leased_last = rank - 1
local function next_hundred()
  local owners = rank <= last and redis.call('ZRANGE', lock, rank, math.min(rank + 99, last)) or {}
  rank = rank + 100
  return owners
end
-- What was taken from a taker by force is back already.
local of_forced = {}
for _, owner in ipairs(takers) do
  local mark = string.sub(counter, 1, -6) .. 'done:' .. owner  -- as in include/abandoned
  local forced = redis.pcall('GET', mark)
  forced = type(forced) == 'string' and tonumber(string.match(forced, '^forced (%d+)$')) or 0
  local back = math.min(forced, wanted)
  wanted = wanted - back
  if back > 0 then of_forced[#of_forced + 1] = {mark, forced - back} end
end
local function forget_forced()
  for _, each in ipairs(of_forced) do
    redis.call('SET', each[1], 'forced ' .. each[2], 'PX', '86400000')
  end
end
if wanted == 0 and of_forced[1] then
  local _, failure = once(done, 1, done_ms, answered, 'EXISTS', done)
  if not failure then forget_forced() end
  return failure or 1
end
for _, owner in ipairs(takers) do
  if redis.call('ZSCORE', lock, owner) then choose(owner) end
end
local first_hundred = next_hundred()
for _, of_client in ipairs({true, false}) do
  for _, owner in ipairs(first_hundred) do
    if (string.sub(owner, 1, 36) == client) == of_client then choose(owner) end
  end
end
while found < wanted and rank <= last do
  for _, owner in ipairs(next_hundred()) do
    choose(owner)
  end
end
local leased = 0
for _, owner in ipairs(found < wanted and redis.call('ZRANGE', lock, '1', leased_last) or {}) do
  if not is_lasting(owner) then leased = leased + weight_in(lock, owner) end
end
if leased > 0 then
  local refusal = string.format(
    'MISFIT %.0f permits with leases, of an expiring_semaphore, not %.0f permits without leases, of a semaphore', leased, wanted)
  redis.pcall('SET', done, refusal, 'PX', done_ms)  -- an earlier copy that comes later is to do nothing, too
  return redis.error_reply(refusal)
end

local total = math.min((limit or 0) + wanted - found, 2147483647)
local _, failure
if found < wanted then
  _, failure = once(done, 1, done_ms, answered, 'SET', size, string.format('%.0f', total))
else
  _, failure = once(done, 1, done_ms, answered, 'ZADD', lock, found - out, marker())
end
if failure then return failure end
local function take_from_chosen()
  for _, each in ipairs(chosen) do
    local owner, rest = each[1], each[2]
    if rest > 1 then
      redis.call('ZADD', lock, string.format('%.0f', heavy + rest), owner .. ':p')
    else
      redis.call('ZREM', lock, owner .. ':p', rest == 0 and owner or owner .. ':p')
    end
  end
  out = out - found
end
take_from_chosen()
forget_forced()
set_limit(total)
pcall(let_in, grant_ms)  -- as in release
end_with_last()
end_empty()
return 1
