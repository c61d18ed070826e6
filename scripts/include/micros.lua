-- @leaves now_us, micros
-- The server's clock, in microseconds since the epoch: exact as a Lua number for the next two centuries. It stands still
-- while a script runs, and is asked once.
local now_us
local function micros()
  if not now_us then
    local time = redis.call('TIME')
    now_us = time[1] * 1000000 + time[2]
  end
  return now_us
end
