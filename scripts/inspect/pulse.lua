-- For whoever looks at many locks again and again: which of them need a closer look? Changes nothing.
-- KEYS: each lock, followed by its queue. Reply: for each lock a text that differs when holder, token, numbers or waiters do, and
-- with `scope` "ttl" its pttl, otherwise -3. A user without the right to Redisson's objects hears less of these, and no error.
local names = {unpack(KEYS)}
local scope = ARGV[1]
local answer = {}
local function number(...)
  local reply = redis.pcall(...)
  return type(reply) == 'number' and reply or 0
end
local function text_of(key, last)
  local reply = redis.pcall('GETRANGE', key, 0, last)
  return type(reply) == 'string' and reply or nil
end
for i = 1, #names, 2 do
  local lock, queue = names[i], names[i + 1]
  local beside = string.sub(queue, 1, -6)
  local text, waiting = text_of(lock, 127), number('ZCARD', queue)
  if not text then
    text = 'of another type ' .. number('HLEN', lock) .. ' ' .. number('ZCARD', lock)
    waiting = waiting + number('ZCARD', beside .. 'permit_queue')
  elseif text == 'holdfast_readers' then
    text = 'readers ' .. number('ZCARD', beside .. 'readers')
  elseif string.sub(text, 1, 16) == 'holdfast_barrier' then
    text = text .. number('ZCARD', beside .. 'arrived')
  end
  -- An owner id is never used twice, so it tells what the token does.
  local token = string.sub(text, 37, 37) ~= ':' and text_of(beside .. 'token', 31) or ''
  answer[i] = table.concat({text, token, waiting}, ' ')
  answer[i + 1] = scope == 'ttl' and number('PTTL', lock) or -3
end
return answer
