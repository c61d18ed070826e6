-- For whoever looks at many locks again and again: which of them need a closer look? Changes nothing.
-- KEYS: each lock, followed by its queue. Reply: for each lock a text that differs when holder, token, numbers or waiters do, when its
-- holder says that it leads, or when the time of some holder of several is over; and with `scope` "ttl" its pttl, otherwise -3. The
-- text begins with a space only if there is no lock. A user without the right to Redisson's objects hears less of these, and no error.
local names = {unpack(KEYS)}
local scope = ARGV[1]
-- @include micros
local answer = {}
local function number(...)
  local reply = redis.pcall(...)
  return type(reply) == 'number' and reply or 0
end
local function text_of(key, last)
  local reply = redis.pcall('GETRANGE', key, '0', last)  -- texts: the server takes half a microsecond to print a number of Lua's
  return type(reply) == 'string' and reply or nil
end
-- Those whose time is over stay in their set until somebody else comes.
local function alive(set) return number('ZCOUNT', set, string.format('(%.0f', math.floor(micros() / 1000)), '+inf') end
-- How many there are, and who, if they are few. Renewals change the order.
local function who(count, ...)
  local ids = count <= 8 and redis.pcall(...) or {}
  for i, id in ipairs(ids) do ids[i] = string.sub(id, 1, 128) end
  table.sort(ids)
  return count .. ' ' .. table.concat(ids, ' ')
end
-- One of Redisson's locks says in its fields who has it.
local function fields_of(hash, count) return 'fields ' .. who(count, 'HKEYS', hash) end
-- The marker of permits says of how many so many are out.
local function members_of(set, beside)
  local marker = string.sub(table.concat(redis.pcall('ZRANGE', set, '0', '0', 'WITHSCORES'), ' '), 1, 160)
  return 'of another type ' .. number('ZCARD', set) .. ' ' .. alive(set) .. ' ' .. marker, number('ZCARD', beside .. 'permit_queue')
end
-- Readers get the last token of a writer, so another reader is told by its id alone.
local function readers_in(set)
  return 'readers ' .. alive(set) .. ' ' .. who(number('ZCARD', set), 'ZRANGE', set, '0', '-1')
end
-- The leader of an election says so after its grant. What a former one has said may still be there. Not with the value, which may be
-- long, unless the user may lock, but has no right to HGET.
local may_get = true
local function says_that_it_leads(owner, leader)
  local said = may_get and redis.pcall('HGET', leader, 'owner')
  if may_get and type(said) ~= 'table' then return said == owner end
  local all = redis.pcall('HGETALL', leader)
  if all.err then return false end
  may_get = false
  for i = 1, #all, 2 do
    if all[i] == 'owner' then return all[i + 1] == owner end
  end
  return false
end
-- Most locks have no queue, and lead nothing. One question about a few of them costs a fraction of one about each. A user without the
-- right to ask it asks about each.
local few = 20
local any_waits, any_leads
local function exists_one_of(keys) return redis.pcall('EXISTS', unpack(keys)) ~= 0 end
local function look_ahead(first)
  local queues, leaders = {}, {}
  for i = first + 1, math.min(first + 2 * few, #names), 2 do
    queues[#queues + 1] = names[i]
    leaders[#leaders + 1] = string.sub(names[i], 1, -6) .. 'leader'
  end
  any_waits, any_leads = exists_one_of(queues), exists_one_of(leaders)
end
local function other_text_of(lock, text, beside)
  if not text then
    local count = number('HLEN', lock)
    if count > 0 then return fields_of(lock, count), 0 end
    return members_of(lock, beside)
  elseif text == 'holdfast_readers' then
    return readers_in(beside .. 'readers'), 0
  elseif string.sub(text, 1, 16) == 'holdfast_barrier' then
    return text .. number('ZCARD', beside .. 'arrived'), 0
  elseif text == '' and number('EXISTS', lock) == 0 then
    return text, number('ZCARD', beside .. 'permit_queue')
  end
  return (text == '' or string.sub(text, 1, 1) == ' ') and '-' .. text or text, 0
end
local begun, enough_us = micros(), 600
local function took_enough()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2] - begun > enough_us
end
for i = 1, #names, 2 do
  if i % (2 * few) == 1 then
    if i > 1 and took_enough() then break end
    look_ahead(i)
  end
  local lock, queue = names[i], names[i + 1]
  local text, more = text_of(lock, '127'), ''
  local waiting = any_waits and number('ZCARD', queue) or 0
  if text and string.byte(text, 37) == 58 and string.byte(text) ~= 32 then  -- an owner id: the text has its colon, and no space
    if any_leads and says_that_it_leads(text, string.sub(queue, 1, -6) .. 'leader') then more = 'leads' end
  else  -- an owner id is never used twice, so there it tells what the token does
    local beside, more_waiting = string.sub(queue, 1, -6)
    text, more_waiting = other_text_of(lock, text, beside)
    more, waiting = text_of(beside .. 'token', '31') or '', waiting + more_waiting
  end
  answer[i] = text .. ' ' .. more .. (waiting == 0 and ' 0' or ' ' .. waiting)
  answer[i + 1] = scope == 'ttl' and number('PTTL', lock) or -3
end
return answer
