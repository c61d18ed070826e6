-- Opens a latch, whatever is still to be counted, also when its time is over; tells those who wait.
-- Reply: 1, also when an earlier copy of the request did it; 0 it was open; an error MISFIT when the key holds something else.
local latch = KEYS[1]
local counted = KEYS[2]
local done = KEYS[3]
local answered = {unpack(KEYS, 4)}
local publish = ARGV[1]
local channel = ARGV[2]
local done_ms = ARGV[3]
-- @include micros
-- @include misfit_of_text
-- @include latch_in
-- @include once
-- @include tell
if redis.call('EXISTS', done) == 1 then return 1 end
local left, misfit = latch_in(latch)
if misfit and not left and not string.find(misfit.err, 'EXPIRED', 1, true) then return misfit end
if not left and not misfit then return 0 end
local _, failure = once(done, 1, done_ms, answered, 'DEL', latch, counted)
if failure then return failure end
tell(channel, '0')
return 1
