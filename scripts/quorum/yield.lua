-- Gives back a vote that isn't enough. Nobody is told: it wasn't anybody's to wait for, and all who ask ask again soon.
-- Effects when it is the caller's: the key is gone, and the caller is in line with `ticket`, unless that is ''.
-- Reply: 1 given back; 0 it wasn't the caller's.
local lock = KEYS[1]
local queue = KEYS[2]
local owner = ARGV[1]
local ticket = ARGV[2]
-- @include micros
-- @include join_queue
if redis.pcall('GET', lock) ~= owner then return 0 end
redis.call('DEL', lock)
if ticket ~= '' then join_queue(queue, owner, ticket, 0) end
return 1
