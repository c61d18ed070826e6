-- Brings the token counter of one master level with the others, while its vote is the caller's: no token up to `token` is given
-- out here any more.
-- Effects: the counter is at least `token`, for a day.
-- Reply: the counter; 0 when the lock isn't the caller's (nothing was done).
local lock = KEYS[1]
local counter = KEYS[2]
local owner = ARGV[1]
local token = ARGV[2]
if redis.pcall('GET', lock) ~= owner then return 0 end
local last = tonumber(redis.call('GET', counter) or 0)
if last >= tonumber(token) then return last end
redis.call('SET', counter, token, 'EX', '86400')
return tonumber(token)
