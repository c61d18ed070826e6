-- Which of these hashes may be locks of Redisson's? Most hashes of a server aren't, and need no closer look.
-- Reply: their places, from 1; an error when the right to look at them is missing.
local hashes = {unpack(KEYS)}
local places = {}
for i, hash in ipairs(hashes) do
  local length = redis.pcall('HLEN', hash)
  if length == 1 then
    if string.sub(redis.call('HKEYS', hash)[1], 37, 37) == ':' then places[#places + 1] = i end
  elseif type(length) == 'number' then
    if length > 1 and redis.call('HEXISTS', hash, 'mode') == 1 then places[#places + 1] = i end
  elseif not string.find(length.err, 'WRONGTYPE', 1, true) then
    return length  -- none is of another type, unless it has changed since
  end
end
return places
