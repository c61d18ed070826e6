-- Takes all permits that are left. The ttl that the semaphore may have stays.
-- Reply: how many they were, negative: so many were missing; also when an earlier copy of the request took them; an error MISFIT when
-- the key holds something else.
local counter = KEYS[1]
local done = KEYS[2]
local answered = {unpack(KEYS, 3)}
local done_ms = ARGV[1]
-- @include misfit_of_text
-- @include number_in
-- @include once
local noted = redis.call('GET', done)
if noted then return tonumber(noted) end
local left, misfit = number_in(counter, 'the number of permits of a semaphore')
if misfit then return misfit end
if not left or left == 0 then
  redis.pcall('SET', done, '0', 'PX', done_ms)  -- an earlier copy that comes later is to find none, too
  return 0
end
local _, failure = once(done, left, done_ms, answered, 'DECRBY', counter, left)
return failure or left
