-- @leaves now_us, micros
-- The server's clock, in microseconds since the epoch: exact as a Lua number for the next two centuries. Asked
-- once, so that all that a script does has one time.
local now_us
local function micros()
  if not now_us then
    local time = redis.call('TIME')
    now_us = time[1] * 1000000 + time[2]
  end
  return now_us
end
