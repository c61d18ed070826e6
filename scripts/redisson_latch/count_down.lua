-- Counts down by `n`, to 0 at the most. At 0 the count is gone, and those who wait are told; a latch that is open already stays so,
-- and nobody is told.
-- Reply: 1, also when an earlier copy of the request did it; 0 it had no count; an error MISFIT when the key holds something else.
local counter = KEYS[1]
local done = KEYS[2]
local answered = {unpack(KEYS, 3)}
local n = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local done_ms = ARGV[4]
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
if redis.call('EXISTS', done) == 1 then return 1 end
local count, misfit = number_in(counter, 'the count of a latch')
if misfit then return misfit end
if not count then return 0 end
local left = count - n
local change = left > 0 and {'DECRBY', counter, n} or {'DEL', counter}
local _, failure = once(done, 1, done_ms, answered, unpack(change))
if failure then return failure end
if left <= 0 and count > 0 then tell_number(channel, 0) end
return 1
