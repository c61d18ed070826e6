-- @needs micros, redisson_facts, most, waiters, scope
-- @leaves look_at_readers, heavy, weigh, look_at_permits, is, look_at_members, state_of
-- Of readers those whose time isn't over, the one that has it longest first.
local function look_at_readers(readers)
  local now_ms = micros() / 1000
  local limit = tonumber(most) > 0 and tonumber(most) or 100
  local count = redis.call('ZCARD', readers)
  while count > 0 do
    local first = redis.call('ZRANGE', readers, -count, -count, 'WITHSCORES')
    if tonumber(first[2]) > now_ms then break end
    count = count - 1
  end
  local holders, last = {count}, count > 0 and redis.call('ZRANGE', readers, -math.min(count, limit), '-1', 'WITHSCORES') or {}
  for i = #last, 2, -2 do
    holders[#holders + 1] = last[i - 1]
    holders[#holders + 1] = math.floor(last[i] - now_ms)
  end
  return holders
end
-- Who has, or waits for, more than one permit has a second member behind `heavy`: see permits.lua.
local heavy = 8000000000000000
local function weigh(set, owner)
  local score = redis.call('ZSCORE', set, owner .. ':p')
  return score and score - heavy or 1
end
-- Of permits those whose time isn't over, the one that ends first first. Nothing when these are no permits.
local function look_at_permits(permits)
  local marker = redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')
  local size = string.match(marker[1], '^holdfast_permits:(%d+)$')
  if not size then return nil end
  local now_ms = math.floor(micros() / 1000)
  local limit = tonumber(most) > 0 and tonumber(most) or 100
  local out, place = -marker[2], 1
  local first = redis.call('ZRANGE', permits, place, place, 'WITHSCORES')
  while first[1] and tonumber(first[2]) <= now_ms do
    out, place = out - weigh(permits, first[1]), place + 1
    first = redis.call('ZRANGE', permits, place, place, 'WITHSCORES')
  end
  local count = redis.call('ZCOUNT', permits, string.format('(%.0f', now_ms), string.format('(%.0f', heavy))
  local holders = {tonumber(size), out, count}
  local members = count > 0 and redis.call('ZRANGE', permits, place, place + math.min(count, limit) - 1, 'WITHSCORES') or {}
  for i = 1, #members, 2 do
    holders[#holders + 1] = members[i]
    holders[#holders + 1] = math.floor(members[i + 1] - now_ms)
    holders[#holders + 1] = weigh(permits, members[i])
  end
  return holders
end
local function is(key, kind) return redis.call('TYPE', key).ok == kind end
-- Of a latch who has counted, of a barrier who has arrived.
local function look_at_members(text, members)
  local limit = tonumber(most) > 0 and tonumber(most) or 100
  if not is(members, 'zset') then return {text, 0} end
  return {text, redis.call('ZCARD', members), unpack(redis.call('ZRANGE', members, '0', limit - 1, 'WITHSCORES'))}
end
-- What inspect/state replies of one lock.
local function state_of(lock, counter, queue)
  -- Part of it only: nobody's lock is longer, but anybody may ask about a key that holds a film.
  local kind = redis.call('TYPE', lock).ok
  local holder = kind == 'string' and redis.call('GETRANGE', lock, '0', '1023') or ''
  local last = is(counter, 'string') and tonumber(redis.call('GETRANGE', counter, '0', '31')) or 0
  local waiting, first = 0, {}
  if is(queue, 'zset') then
    waiting = redis.call('ZCARD', queue)
    if tonumber(waiters) > 0 then first = redis.call('ZRANGE', queue, '0', waiters - 1, 'WITHSCORES') end
  end
  local pttl = redis.call('PTTL', lock)
  local permits = kind == 'zset' and look_at_permits(lock)
  -- An owner of one permit that is the text of the key.
  local number, alone = string.match(holder, '^holdfast_permit (%d+) (.+)$')
  if number then kind, permits = 'zset', {tonumber(number), 1, 1, alone, math.max(pttl, 0), 1} end
  local permit_queue = string.sub(queue, 1, -6) .. 'permit_queue'
  if kind == 'none' and waiting == 0 and is(permit_queue, 'zset') then
    local size = string.sub(queue, 1, -6) .. 'permits'
    permits = {is(size, 'string') and tonumber(redis.call('GETRANGE', size, '0', '31')) or 0, 0, 0}
  end
  if permits then
    waiting, first = 0, {}
    if is(permit_queue, 'zset') then
      waiting = redis.call('ZCOUNT', permit_queue, '-inf', string.format('(%.0f', heavy))
      local entries = tonumber(waiters) > 0 and waiting > 0
        and redis.call('ZRANGE', permit_queue, '0', math.min(waiters, waiting) - 1, 'WITHSCORES') or {}
      for i = 1, #entries, 2 do
        first[#first + 1] = entries[i]
        first[#first + 1] = entries[i + 1]
        first[#first + 1] = weigh(permit_queue, entries[i])
      end
    end
  end
  local answer = {kind, permits or holder, pttl, last, waiting, micros(), first}
  -- An owner of the plain wire, or a lock of it that is free, is nothing of Redisson's. The server may have lost the set of readers.
  local readers = string.sub(queue, 1, -6) .. 'readers'
  local by_readers = holder == 'holdfast_readers' and (is(readers, 'zset') or is(readers, 'none'))
  if by_readers then answer[2] = look_at_readers(readers) end
  -- A reader that has it for itself is the text of the key.
  if string.sub(holder, 37, 37) == ':' and string.sub(holder, -2) == ':r' then answer[2] = {1, holder, math.max(pttl, 0)} end
  local members = string.match(holder, '^holdfast_latch ') and 'counted' or string.match(holder, '^holdfast_barrier ') and 'arrived'
  if members then answer[2] = look_at_members(holder, string.sub(queue, 1, -6) .. members) end
  if answer[2] == holder and string.sub(holder, 37, 37) == ':' then
    local said, fields = {}, redis.pcall('HGETALL', string.sub(queue, 1, -6) .. 'leader')
    for i = 1, #fields, 2 do said[fields[i]] = fields[i + 1] end
    if said.owner == holder then
      -- Who lists many locks gets no value of 64 KiB for each.
      local value = said.value or ''
      if tonumber(most) == 0 then value = string.sub(value, 1, 1024) end
      answer[2] = {holder, 'leader', said.term or '', value}
    end
  end
  local of_plain = permits or by_readers or members or string.sub(holder, 37, 37) == ':' or (kind == 'none' and (last > 0 or waiting > 0))
  if scope == 'both' or not of_plain then
    local function look() return redisson_facts(lock, of_plain and 'none' or kind, holder, pttl, tonumber(most)) end
    local fine, facts = true
    if scope == 'plain' then
      fine, facts = pcall(look)
    else
      facts = look()
    end
    if fine and #facts > 0 then answer[#answer + 1] = facts end
  end
  return answer
end
