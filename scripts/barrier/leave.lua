-- Gives up an arrival: a generation that waits for others is broken, because `why`. A copy of the arrival that comes later doesn't count.
-- Reply: 1 it was broken; 0 the arrival counts for none, or its generation is over.
local barrier = KEYS[1]
local arrived = KEYS[2]
local mark = KEYS[3]
local owner = ARGV[1]
local participant = ARGV[2]
local why = ARGV[3]
local publish = ARGV[4]
local channel = ARGV[5]
-- @include micros
-- @include misfit_of_text
-- @include barrier_in
-- @include mark_of_seat
-- @include tell
-- @include end_generation
local at, misfit = barrier_in(barrier)
if not at then return misfit end
local number = tonumber(string.sub(owner, 38))
local last_number, counted_for = mark_of_seat(mark)
if last_number < number then redis.call('SET', mark, string.format('%d 0', number), 'PX', '3600000') end
if last_number ~= number or counted_for ~= at.generation then return 0 end
end_generation(at, why .. ' ' .. owner .. ' ' .. participant)
return 1
