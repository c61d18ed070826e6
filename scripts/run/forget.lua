-- Forgets the last run under a lock, if it was `owner`'s, so that it counts no more.
-- Reply: 1; 0 it was somebody else's, or there is no record.
local record = KEYS[1]
local owner = ARGV[1]
-- @include last_run
local _, runner = last_run(record)
if runner ~= owner then return 0 end
redis.call('DEL', record)
return 1
