-- @needs misfit_of_text
-- @leaves number_in
-- The number under `counter`; nothing when there is no such key. When it holds something else: nothing, and the error to reply,
-- which says what was found and, as `expected`, what was expected.
local function number_in(counter, expected)
  local text = redis.pcall('GET', counter)
  if not text then return nil end
  if type(text) == 'string' and string.find(text, '^-?%d+$') then return tonumber(text) end
  return nil, misfit_of_text(counter, text, expected)
end
