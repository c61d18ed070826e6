-- Is the latch open: has it no count, or 0? Changes nothing.
-- Reply: open {0, 1}; closed {pttl of the latch, -1: it has none, -1, 0, 0, '', -1}; an error MISFIT when the key holds something
-- else.
local counter = KEYS[1]
-- @include misfit_of_text
-- @include number_in
local count, misfit = number_in(counter, 'the count of a latch')
if misfit then return misfit end
if not count or count <= 0 then return {0, 1} end
return {math.max(redis.call('PTTL', counter), -1), -1, 0, 0, '', -1}
