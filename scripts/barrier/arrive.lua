-- Arrives at a barrier, or looks how the generation has ended for which that owner has arrived. A generation of which somebody's
-- time is over is broken first. With `mode` "ask" it only arrives if it is the last. A seat is a place of a client from which one
-- owner at a time arrives, each with a greater number than the one before. `ticket` is the generation, once that is known.
-- Effects: the owner is among those who have arrived, for `ttl_ms`; when it is the last, the next generation begins.
-- Reply: opened, {generation, 1}; waiting, {ms until it has to ask again, 0, generation, 0, '', -1}, the second and third -1 and 0
-- when it hasn't arrived; an error BROKEN <generation> <why> <who>; PARTIES <of the barrier> <own> when others wait at a barrier
-- of another size; MISFIT when the key holds something else.
local barrier = KEYS[1]
local arrived = KEYS[2]
local mark = KEYS[3]
local owner = ARGV[1]
local participant = ARGV[2]
local parties = ARGV[3]
local ttl_ms = ARGV[4]
local mode = ARGV[5]
local ticket = ARGV[6]
local publish = ARGV[7]
local channel = ARGV[8]
-- @include micros
-- @include misfit_of_text
-- @include barrier_in
-- @include mark_of_seat
-- @include cause_of
-- @include tell
-- @include end_generation
local at, misfit = barrier_in(barrier)
if not at then return misfit end
local member, number, now_ms = owner .. ' ' .. participant, tonumber(string.sub(owner, 38)), math.floor(micros() / 1000)
local last_number, counted_for = mark_of_seat(mark)
local known = last_number == number
local function broken(generation, cause)
  return redis.error_reply(string.format('BROKEN %.0f %s', generation, cause))
end
local first = redis.call('ZRANGE', arrived, '0', '0', 'WITHSCORES')
if at.fresh and first[1] then
  end_generation(at, 'lost ' .. first[1])  -- the barrier was deleted under those that had arrived
elseif first[1] and tonumber(first[2]) <= now_ms then
  end_generation(at, 'died ' .. first[1])
elseif last_number < number and counted_for == at.generation then
  end_generation(at, 'lost ' .. member)  -- it was told that this one is over, by a server that knew more
end
if last_number > number or (known and counted_for == 0) then return broken(0, 'left ' .. member) end
if known and counted_for ~= at.generation then
  local cause = cause_of(at, counted_for, 'lost ' .. member)
  if cause then return broken(counted_for, cause) end
  return {counted_for, 1}
end
if not known and ticket ~= '' then return broken(ticket, 'lost ' .. member) end
local count = redis.call('ZCARD', arrived)
if tonumber(parties) ~= at.parties then
  if count > 0 then return redis.error_reply(string.format('PARTIES %d %s', at.parties, parties)) end
  at.parties, at.fresh = tonumber(parties), true
end
local generation = at.generation
local text = string.format('%d %.0f', number, generation)
if count + 1 >= at.parties and not redis.call('ZSCORE', arrived, member) then
  redis.call('SET', mark, text, 'PX', '3600000')
  end_generation(at)
  return {generation, 1}
end
if mode == 'ask' and not known then return {-1, -1, 0, 0, '', -1} end
if known then
  redis.call('PEXPIRE', mark, '3600000')  -- at maxmemory ZADD isn't refused behind it
else
  redis.call('SET', mark, text, 'PX', '3600000')
end
redis.call('ZADD', arrived, string.format('%.0f', now_ms + ttl_ms), member)
redis.call('PEXPIRE', arrived, '86400000')
if at.fresh then
  store(at)
else
  redis.call('PEXPIRE', barrier, '86400000')
end
local next_end = redis.call('ZRANGE', arrived, '0', '0', 'WITHSCORES')[2]
return {math.min(next_end - now_ms, math.ceil(ttl_ms / 3)), 0, generation, 0, '', -1}
