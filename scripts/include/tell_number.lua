-- @needs tell
-- @leaves tell_number
-- Tells everybody who waits for a semaphore or latch a number. A negative one helps nobody, and Redisson's listeners fail on it.
local function tell_number(channel, number)
  if tonumber(number) >= 0 then tell(channel, string.format('%.0f', number)) end
end
