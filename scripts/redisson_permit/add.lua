-- Adds permits, or with a negative number takes them away. Tells how many were added. The ttl that the semaphore may have stays.
-- Reply: 1, also when an earlier copy of the request did it; an error MISFIT when the keys hold something else.
local counter = KEYS[1]
local permits = KEYS[2]
local done = KEYS[3]
local answered = {unpack(KEYS, 4)}
local more = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local done_ms = ARGV[4]
-- @include micros
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
-- @include permits_out
if redis.call('EXISTS', done) == 1 then return 1 end
local _, misfit = look_at_permits(counter, permits)
if misfit then return misfit end
local _, failure = once(done, 1, done_ms, answered, 'INCRBY', counter, more)
if failure then return failure end
tell_number(channel, more)
return 1
