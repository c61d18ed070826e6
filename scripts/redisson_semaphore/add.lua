-- Adds permits, or gives some back, which is the same; with a negative number takes them away. Tells how many are left. The ttl
-- that the semaphore may have stays.
-- Reply: 1, also when an earlier copy of the request did it; an error MISFIT when the key holds something else.
local counter = KEYS[1]
local done = KEYS[2]
local answered = {unpack(KEYS, 3)}
local permits = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local done_ms = ARGV[4]
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
if redis.call('EXISTS', done) == 1 then return 1 end
local _, misfit = number_in(counter, 'the number of permits of a semaphore')
if misfit then return misfit end
local left, failure = once(done, 1, done_ms, answered, 'INCRBY', counter, permits)
if failure then return failure end
tell_number(channel, left)
return 1
