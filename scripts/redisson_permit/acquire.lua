-- Takes a permit for `ttl_ms`, if one is left or has expired. An id that has one already (the request was sent again) keeps it, with
-- a full ttl. A semaphore whose number is missing is given `size` permits first, with those that are out, and that is told; with a
-- size of 0 it has none.
-- Reply: granted {0, 1}; busy {time until the next permit expires, -1: none does, -1, 0, 0, '', -1}; an error MISFIT when the keys
-- hold something else.
local counter = KEYS[1]
local permits = KEYS[2]
local id = ARGV[1]
local ttl_ms = ARGV[2]
local size = ARGV[3]
local publish = ARGV[4]
local channel = ARGV[5]
-- @include micros
-- @include misfit_of_text
-- @include number_in
-- @include tell
-- @include tell_number
-- @include permits_out
local left, misfit = look_at_permits(counter, permits)
if misfit then return misfit end
local expiry = now_ms() + ttl_ms
local score = redis.call('ZSCORE', permits, id)
if score then
  redis.call('ZADD', permits, math.max(score, expiry), id)
  -- Like prolong it always writes: the same score again would be no write.
  if left then redis.call('INCRBY', counter, '0') end
  return {0, 1}
end
if not left and tonumber(size) > 0 then
  left = size - redis.call('ZCARD', permits)
  redis.call('SET', counter, left)
  tell_number(channel, size)
end
-- As many as it takes, and no more: whoever looks next takes back the others.
left = reclaim(counter, permits, channel, left, math.max(1, 1 - (left or 0)))
if not left or left < 1 then
  local next_one = redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2]
  local pttl = -1
  if next_one and tonumber(next_one) < never then pttl = math.max(next_one - now_ms(), 0) end
  return {pttl, -1, 0, 0, '', -1}
end
redis.call('DECRBY', counter, '1')
local entered = redis.pcall('ZADD', permits, expiry, id)
if type(entered) == 'table' then
  redis.call('INCRBY', counter, '1')
  return entered
end
-- They end together.
local ttl = redis.call('PTTL', counter)
if ttl > 0 then redis.call('PEXPIRE', permits, ttl) end
return {0, 1}
