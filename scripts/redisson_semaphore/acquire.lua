-- Takes `amount` permits if so many are left, and notes under `done` how many the bid has: a request sent again finds that. A
-- semaphore that was never given permits, or lost its number, is given `size` first, and that is told; with a size of 0 it has none.
-- Reply: granted {0, 1}; busy {pttl of the semaphore, -1: it has none, -1, 0, 0, '', -1}, also for a bid that was given up; an error
-- MISFIT when the key holds something else.
local counter = KEYS[1]
local done = KEYS[2]
local amount = ARGV[1]
local done_ms = ARGV[2]
local size = ARGV[3]
local publish = ARGV[4]
local channel = ARGV[5]
-- @include misfit_of_text
-- @include number_in
-- @include once
-- @include tell
-- @include tell_number
local left, misfit = number_in(counter, 'the number of permits of a semaphore')
if misfit then return misfit end
local noted = redis.call('GET', done)
if noted and noted ~= 'given up' then
  redis.call('PEXPIRE', done, done_ms)  -- a write for a WAIT behind it, which would count nothing otherwise
  return {0, 1}
end
if not noted and not left and tonumber(size) > 0 then
  left = tonumber(size)
  redis.call('SET', counter, size)
  tell_number(channel, size)
end
if noted or not left or left < tonumber(amount) then
  return {math.max(redis.call('PTTL', counter), -1), -1, 0, 0, '', -1}
end
local _, failure = once(done, amount, done_ms, {}, 'DECRBY', counter, amount)
return failure or {0, 1}
