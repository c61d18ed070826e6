-- Gives the lock back while another caller of the same process waits for it (`next`): one request for both. If nobody else
-- heard of it (of this process, `own_ears` do) `next` gets it at once. Otherwise it stays free, and `next` asks again a moment
-- later, so that the others have a fair chance; also when nobody can be told, since nobody knows who polls.
-- Reply: {0} the key was gone, {-1} it is somebody else's (in both cases nothing was done for `next`);
-- {1, 0, `handoffs`} `next` holds; {2, pttl to wait for, -1, 0, 0, '', -1} it is free.
local lock = KEYS[1]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local own_ears = ARGV[4]
local next = ARGV[5]
local ttl_ms = ARGV[6]
local handoffs = ARGV[7]
-- @include owner_hash
-- @include prolong
-- @include hold_hash
-- @include tell
-- @include pass_on
local found, free = pass_on(lock, owner, channel, own_ears, next, ttl_ms)
if found ~= 1 then return {found} end
return free or {1, 0, tonumber(handoffs)}
