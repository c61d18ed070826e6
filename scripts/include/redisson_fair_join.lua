-- @needs now_ms
-- @leaves place_of, queue_up
-- The place of `owner` in the queue, from 0; nothing when it isn't there.
local function place_of(owner, queue)
  local place = redis.pcall('LPOS', queue, owner)
  if type(place) ~= 'table' then return place or nil end
  for i, one in ipairs(redis.call('LRANGE', queue, '0', '-1')) do  -- a server older than 6.0.6
    if one == owner then return i - 1 end
  end
end

-- Sees to it that `owner` waits in the queue, and counts as alive for `credit_ms` after the one before it doesn't any more, or
-- after the `left_ms` of the holder. One that waits already isn't touched before half of its credit is gone: so the live ones
-- outlast a long hold, and one that died goes when its score has passed. Returns its place.
local function queue_up(queue, timeouts, owner, left_ms, credit_ms)
  local place = place_of(owner, queue)
  local before = place ~= 0 and redis.call('LINDEX', queue, (place or 0) - 1)
  local until_ms = now_ms() + math.max(left_ms, 0)
  if before then until_ms = math.max(until_ms, redis.call('ZSCORE', timeouts, before) or 0) end
  local dies_at = place and redis.call('ZSCORE', timeouts, owner)
  if not dies_at or tonumber(dies_at) < until_ms + credit_ms / 2 then
    redis.call('ZADD', timeouts, string.format('%.0f', until_ms + credit_ms), owner)
  end
  return place or redis.call('RPUSH', queue, owner) - 1
end
