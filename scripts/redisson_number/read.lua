-- Looks at the number of a semaphore or latch.
-- Reply: the number; nil when there is none; an error MISFIT when the key holds something else than `description`.
local counter = KEYS[1]
local description = ARGV[1]
-- @include misfit_of_text
-- @include number_in
local number, misfit = number_in(counter, description)
return misfit or number or false
