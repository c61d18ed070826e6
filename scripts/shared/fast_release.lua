-- Gives the lock back that a reader has for itself (see as_readers) if nobody waits for it: no more than the common case needs.
-- Reply: 1 released; 0 the key, or its hold, was gone; -1 somebody writes; 2 others read beside it, or somebody waits, and nothing
-- was done: see release.
local lock = KEYS[1]
local queue = KEYS[2]
local owner = ARGV[1]
local holder = redis.pcall('GET', lock)
if holder ~= owner then
  if holder ~= 'holdfast_readers' then return holder and -1 or 0 end
  local ends = redis.pcall('ZSCORE', string.sub(queue, 1, -6) .. 'readers', owner)
  return ends and 2 or 0
end
if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lock) end
return 2
