-- @leaves number_in
-- The number under `counter`; nothing when there is no such key. When it holds something else: nothing, and the error to reply,
-- which says what was found and, as `expected`, what was expected.
local function number_in(counter, expected)
  local text = redis.pcall('GET', counter)
  if not text then return nil end
  if type(text) == 'string' and string.find(text, '^-?%d+$') then return tonumber(text) end
  local found = 'text that is no number'
  if type(text) == 'table' then
    if not string.find(text.err, 'WRONGTYPE', 1, true) then return nil, text end
    found = 'a ' .. redis.call('TYPE', counter).ok
  end
  return nil, redis.error_reply('MISFIT ' .. found .. ', not ' .. expected)
end
