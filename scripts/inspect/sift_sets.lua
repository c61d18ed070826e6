-- Which of these sorted sets are the permits of a semaphore? Most sets of a server aren't, and need no closer look.
-- Reply: their places, from 1; an error when the right to look at them is missing.
local sets = {unpack(KEYS)}
local places = {}
for i, set in ipairs(sets) do
  local first = redis.pcall('ZRANGE', set, '0', '0')
  if not first.err then
    if string.match(first[1] or '', '^holdfast_permits:%d+$') then places[#places + 1] = i end
  elseif not string.find(first.err, 'WRONGTYPE', 1, true) then
    return first  -- none is of another type, unless it has changed since
  end
end
return places
