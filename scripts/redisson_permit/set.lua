-- Makes it so many permits altogether, with those that are out; tells that number if it wasn't.
-- Reply: 1 they were fewer or more; 0 they were as many; an error MISFIT when the keys hold something else.
local counter = KEYS[1]
local permits = KEYS[2]
local altogether = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include micros
-- @include misfit_of_text
-- @include number_in
-- @include tell
-- @include tell_number
-- @include permits_out
local left, misfit = look_at_permits(counter, permits)
if misfit then return misfit end
if not left then
  redis.call('SET', counter, altogether)
else
  local change = altogether - left - redis.call('ZCARD', permits)
  if change == 0 then return 0 end
  redis.call('INCRBY', counter, change)
end
tell_number(channel, altogether)
return 1
