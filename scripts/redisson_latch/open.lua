-- Opens the latch: takes its count away and tells those who wait, with the message that opens Redisson's gate too (its own delete
-- sends the one that closes it).
-- Reply: 1, also when an earlier copy of the request did it; 0 it had no count; an error MISFIT when the key holds something else.
local counter = KEYS[1]
local done = KEYS[2]
local answered = {unpack(KEYS, 3)}
local publish = ARGV[1]
local channel = ARGV[2]
local done_ms = ARGV[3]
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
if redis.call('EXISTS', done) == 1 then return 1 end
local count, misfit = number_in(counter, 'the count of a latch')
if misfit then return misfit end
if not count then return 0 end
local _, failure = once(done, 1, done_ms, answered, 'DEL', counter)
if failure then return failure end
tell_number(channel, 0)
return 1
