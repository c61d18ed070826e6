-- @leaves misfit_of_text
-- The error to reply when a key isn't what was expected: it names both kinds. `found` is what GET replied.
local function misfit_of_text(key, found, expected)
  local kind = 'text of something else'
  if type(found) == 'table' then
    if not string.find(found.err, 'WRONGTYPE', 1, true) then return found end
    kind = 'a ' .. redis.call('TYPE', key).ok
    if kind == 'a zset' then kind = 'a sorted set (as the permits of an expiring_semaphore are)' end
  elseif found == 'holdfast_readers' or string.match(found, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+:?r?$') then
    kind = 'a lock'
  elseif string.match(found, '^holdfast_%a+ ') then
    kind = 'a ' .. string.match(found, '^holdfast_(%a+)')
  elseif string.match(found, '^-?%d+$') then
    kind = 'a number'
  end
  return redis.error_reply('MISFIT ' .. kind .. ', not ' .. expected)
end
