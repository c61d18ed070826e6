-- @leaves mark_of_seat
-- What the last arrival of a seat has left: its number, and for which generation it counts; 0: for none, since it was given up before.
-- An hour is longer than a network keeps a copy of a request.
local function mark_of_seat(mark)
  local number, generation = string.match(redis.call('GET', mark) or '', '^(%d+) (%d+)$')
  return tonumber(number) or -1, tonumber(generation) or 0
end
