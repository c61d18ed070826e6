-- Gives up the place in the queue of a master that wasn't needed: the lock was had from the others. Its vote is left alone, since it
-- may be counted by now.
-- Reply: 1 given up; 0 there was none.
local queue = KEYS[1]
local owner = ARGV[1]
return redis.call('ZREM', queue, owner)
