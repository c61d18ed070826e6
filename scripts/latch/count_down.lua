-- Counts a latch down by `n`, for a participant that hasn't counted it down yet. At 0 the latch is gone, and those who wait are told.
-- Reply: 1, also when an earlier copy of the request did it; 0 it was open, or that participant has counted already; an error EXPIRED
-- when its time is over, MISFIT when the key holds something else.
local latch = KEYS[1]
local counted = KEYS[2]
local done = KEYS[3]
local answered = {unpack(KEYS, 4)}
local participant = ARGV[1]
local n = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
local done_ms = ARGV[5]
-- @include micros
-- @include misfit_of_text
-- @include latch_in
-- @include once
-- @include tell
if redis.call('EXISTS', done) == 1 then return 1 end
local left, of, ends_ms = latch_in(latch)
if not left then return of or 0 end
if redis.call('ZSCORE', counted, participant) then return 0 end
left = left - n
local last = left <= 0
local command = {'ZADD', counted, string.format('%.0f', micros()), participant}
if last then command = {'DEL', latch, counted} end
local _, failure = once(done, 1, done_ms, answered, unpack(command))
if failure then return failure end
if last then
  tell(channel, '0')
  return 1
end
local text = string.format('holdfast_latch %.0f %s %s', left, of, ends_ms)
local life_ms = redis.call('PTTL', latch)
if life_ms > 0 then
  redis.call('SET', latch, text, 'PX', life_ms)
  redis.call('PEXPIRE', counted, life_ms)
else
  redis.call('SET', latch, text)
end
return 1
