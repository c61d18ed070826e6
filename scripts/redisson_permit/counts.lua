-- Takes back the permits that have expired, and counts.
-- Reply: {how many are left, how many there are altogether, how many are out}; an error MISFIT when the keys hold something else.
local counter = KEYS[1]
local permits = KEYS[2]
local publish = ARGV[1]
local channel = ARGV[2]
-- @include micros
-- @include misfit_of_text
-- @include number_in
-- @include tell
-- @include tell_number
-- @include permits_out
local left, misfit = look_at_permits(counter, permits)
if misfit then return misfit end
left = reclaim(counter, permits, channel, left, math.huge) or 0
local out = redis.call('ZCARD', permits)
return {left, left + out, out}
