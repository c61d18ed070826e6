-- Gives the permit of an owner back that is the text of the key (see as_set) if nobody waits: no more than the common case needs.
-- Reply: 1 released; 0 it has none (any more); 2 others have permits beside it, or somebody waits, and nothing was done: see release.
local lock = KEYS[1]
local queue = KEYS[2]
local owner = ARGV[1]
local holder = redis.pcall('GET', lock)
if not holder then return 0 end
if type(holder) == 'table' then return type(redis.pcall('ZSCORE', lock, owner)) == 'string' and 2 or 0 end
if string.sub(holder, 1, 16) ~= 'holdfast_permit ' or string.sub(holder, -1 - string.len(owner)) ~= ' ' .. owner then return 0 end
if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lock) end
return 2
