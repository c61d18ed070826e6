-- Is the latch open: is there none? Changes nothing.
-- Reply: open {0, 1}; closed {ms until its time is over, -1: that has no end, -1, 0, how often it is still to be counted down, '',
-- -1}; an error EXPIRED when its time is over, MISFIT when the key holds something else.
local latch = KEYS[1]
-- @include micros
-- @include misfit_of_text
-- @include latch_in
local left, of, ends_ms = latch_in(latch)
if not left then return of or {0, 1} end
return {tonumber(ends_ms) > 0 and ends_ms - math.floor(micros() / 1000) or -1, -1, 0, left, '', -1}
