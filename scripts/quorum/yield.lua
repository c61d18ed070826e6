-- Gives back a vote that isn't enough, or may be the caller's. Nobody is told: the vote wasn't anybody's to wait for, and all who
-- ask ask again soon. Nothing is done once the owner has got the vote with a newer request than this, the one that says `number`.
-- Effects when the vote is the caller's: the key is gone, and the caller is in line with `ticket`, unless that is ''.
-- Otherwise, without a ticket: the caller is out of the queue.
-- Reply: 1 given back; 0 it wasn't the caller's.
local lock = KEYS[1]
local queue = KEYS[2]
local mark = KEYS[3]
local owner = ARGV[1]
local ticket = ARGV[2]
local number = ARGV[3]
-- @include micros
-- @include join_queue
-- @include newest_ask
if tonumber(number) < newest_ask(mark, owner) then return 0 end
if redis.pcall('GET', lock) ~= owner then
  if ticket == '' then redis.call('ZREM', queue, owner) end
  return 0
end
redis.call('DEL', lock)
if ticket ~= '' then join_queue(queue, owner, ticket, 0) end
return 1
