-- The time of the arrival from a seat is up: gives it up as `leave` does, and says whether its generation has opened meanwhile. The
-- arrival is the last one from that seat; one that counted for `after`, or earlier, is of a call that has ended before.
-- Reply: the generation that has opened; 0 it was broken, now or before, or nobody has been counted.
local barrier = KEYS[1]
local arrived = KEYS[2]
local mark = KEYS[3]
local client = ARGV[1]
local participant = ARGV[2]
local after = ARGV[3]
local publish = ARGV[4]
local channel = ARGV[5]
-- @include micros
-- @include misfit_of_text
-- @include barrier_in
-- @include mark_of_seat
-- @include cause_of
-- @include tell
-- @include end_generation
local at, misfit = barrier_in(barrier)
if not at then return misfit end
local number, counted_for = mark_of_seat(mark)
if counted_for <= tonumber(after) then return 0 end
if counted_for == at.generation then
  end_generation(at, string.format('timed_out %s:%d %s', client, number, participant))
  return 0
end
return cause_of(at, counted_for, 'lost') and 0 or counted_for
