-- Gives a semaphore its permits, or a latch its count, unless it has been given some before; tells `message`.
-- Reply: 1 it was given them, by this copy of the request or an earlier one; 0 it has some; an error MISFIT when the key holds
-- something else than `description`.
local counter = KEYS[1]
local done = KEYS[2]
local answered = {unpack(KEYS, 3)}
local number = ARGV[1]
local message = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
local done_ms = ARGV[5]
local description = ARGV[6]
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
if redis.call('EXISTS', done) == 1 then return 1 end
local value, misfit = number_in(counter, description)
if misfit then return misfit end
if value then return 0 end
local _, failure = once(done, 1, done_ms, answered, 'SET', counter, number)
if failure then return failure end
tell_number(channel, message)
return 1
