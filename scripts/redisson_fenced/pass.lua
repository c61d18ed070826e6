-- As that of redisson_lock, with tokens for `next`.
-- Reply: {0} the key was gone, {-1} it is somebody else's (in both cases nothing was done for `next`);
-- {1, first token, how many} `next` holds; {2, pttl to wait for, -1, 0, 0, '', -1} it is free.
local lock = KEYS[1]
local counter = KEYS[2]
local owner = ARGV[1]
local publish = ARGV[2]
local channel = ARGV[3]
local own_ears = ARGV[4]
local next = ARGV[5]
local ttl_ms = ARGV[6]
local tokens = ARGV[7]
-- @include owner_hash
-- @include prolong
-- @include hold_hash
-- @include tell
-- @include pass_on
-- @include count_tokens
local misfit = misfit_of_counter(counter)
if misfit then return misfit end
local found, free = pass_on(lock, owner, channel, own_ears, next, ttl_ms)
if found ~= 1 then return {found} end
return free or {1, count_tokens(counter, tokens)}
