-- The server's clock, in microseconds since the epoch: exact as a Lua number for the next two centuries.
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
