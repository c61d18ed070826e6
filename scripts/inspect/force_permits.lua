-- Takes permits from whoever has them, and gives them back: the one whose id is `bytes`, or `text` as a Redisson before 3.17 has
-- it; all when both are empty. Expired ones count as given back, too.
-- Reply: how many; 0 there was none, or not that one; an error MISFIT when the keys hold something else.
local counter = KEYS[1]
local permits = KEYS[2]
local publish = ARGV[1]
local channel = ARGV[2]
local bytes = ARGV[3]
local text = ARGV[4]
-- @include tell
local left = redis.pcall('GET', counter)
if type(left) == 'table' or (left and not string.match(left, '^%-?%d+$')) then
  return redis.error_reply('MISFIT something that is no number, where the rest of a semaphore should be')
end
local out = redis.pcall('ZCARD', permits)
if type(out) == 'table' then
  return redis.error_reply('MISFIT a number without a sorted set of permits beside it')
end
local taken
if bytes == '' and text == '' then
  redis.call('DEL', permits)
  taken = out
else
  taken = redis.call('ZREM', permits, bytes, text)
end
if taken == 0 then return 0 end
left = redis.call('INCRBY', counter, taken)
if left > 0 then tell(channel, string.format('%.0f', left)) end
return taken
