-- Breaks the generation for which somebody has arrived.
-- Reply: 1; 0 nobody has arrived; an error MISFIT when the key holds something else.
local barrier = KEYS[1]
local arrived = KEYS[2]
local participant = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include micros
-- @include misfit_of_text
-- @include barrier_in
-- @include tell
-- @include end_generation
local at, misfit = barrier_in(barrier)
if not at then return misfit end
if redis.call('EXISTS', arrived) == 0 then return 0 end
end_generation(at, 'forced ' .. participant)
return 1
