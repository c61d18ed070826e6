-- Gives a permit back. Also ends a bid for one, which may have got it.
-- Reply: 1 it was out; 0 it had expired and is given back only now, or wasn't out at all, and then nothing was changed; -1 there
-- is something else where the permits should be.
local counter = KEYS[1]
local permits = KEYS[2]
local id = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include micros
-- @include misfit_of_text
-- @include number_in
-- @include tell
-- @include tell_number
-- @include permits_out
local score = redis.pcall('ZSCORE', permits, id)
if not score then return 0 end
if type(score) == 'table' then return -1 end
local _, misfit = number_in(counter, 'the number of permits of a semaphore')
if misfit then return misfit end
-- In this order: at maxmemory Redis refuses an INCRBY that isn't behind a write.
redis.call('ZREM', permits, id)
tell_number(channel, redis.call('INCRBY', counter, '1'))
return tonumber(score) > now_ms() and 1 or 0
