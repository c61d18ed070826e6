-- Closes a latch, unless it is closed already; one whose time is over may be set anew. `count` 0 leaves it open. `open_ms` is the time
-- it has to open, 0: any; then it says for `told_ms` that its time is over.
-- Effects: the latch, and nobody has counted it down.
-- Reply: 1, also when an earlier copy of the request did it; 0 it is closed; an error MISFIT when the key holds something else.
local latch = KEYS[1]
local counted = KEYS[2]
local done = KEYS[3]
local answered = {unpack(KEYS, 4)}
local count = ARGV[1]
local open_ms = ARGV[2]
local told_ms = ARGV[3]
local done_ms = ARGV[4]
-- @include micros
-- @include misfit_of_text
-- @include latch_in
-- @include once
if redis.call('EXISTS', done) == 1 then return 1 end
local left, misfit = latch_in(latch)
if left then return 0 end
if misfit and not string.find(misfit.err, 'EXPIRED', 1, true) then return misfit end
local command = {'DEL', latch}
if count ~= '0' then
  command = {'SET', latch, 'holdfast_latch ' .. count .. ' ' .. count .. ' 0'}
  if open_ms ~= '0' then
    local ends_ms = string.format('%.0f', math.floor(micros() / 1000) + open_ms)
    command = {'SET', latch, 'holdfast_latch ' .. count .. ' ' .. count .. ' ' .. ends_ms, 'PX', open_ms + told_ms}
  end
end
local _, failure = once(done, 1, done_ms, answered, unpack(command))
if failure then return failure end
redis.call('DEL', counted)
return 1
