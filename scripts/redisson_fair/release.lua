-- Gives the lock back and tells the first waiter, of those that don't count as dead; with '' for `channel`, nobody. The waiter
-- takes itself out of the queue when it takes the lock. Also if the lock is gone already the waiter is told.
-- Reply: 1 released; 0 the key was gone; -1 it is somebody else's.
local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
-- @include micros
-- @include owner_hash
-- @include tell
-- @include redisson_fair_queue
local found = found_by(owner, lock)
if found == -1 then return -1 end
if found == 1 then redis.call('HDEL', lock, owner) end
-- Should the queue be spoilt, the lock is free all the same; the waiters find out by themselves.
local fine, head = pcall(drop_dead, queue, timeouts)
if fine then tell_head(head, channel) end
return found
