-- @needs micros, number_in, tell_number
-- @leaves never, now_ms, look_at_permits, reclaim
-- Permits that expire: `permits` is the sorted set of the ids of those that are out, scored by when each expires, in milliseconds
-- of the server's clock; or by this, for those that never do.
local never = 922337203685477
local function now_ms() return math.floor(micros() / 1000) end

-- How many permits are left; nothing when it was never given any. When the keys hold something else: nothing, and the error to
-- reply. Redisson before 3.17 had the ids as text: neither side could give back what the other has.
local function look_at_permits(counter, permits)
  local left, misfit = number_in(counter, 'the number of permits of a semaphore')
  if misfit then return nil, misfit end
  local first = redis.pcall('ZRANGE', permits, '0', '0')
  if first.err and not string.find(first.err, 'WRONGTYPE', 1, true) then return nil, first end
  if first.err then
    return nil, redis.error_reply('MISFIT permits with a ' .. redis.call('TYPE', permits).ok .. ' under ' .. permits
      .. ', not with the ids of those that are out')
  end
  if first[1] and #first[1] ~= 16 then
    return nil, redis.error_reply('MISFIT permits whose ids have ' .. #first[1] .. ' bytes, as those of Redisson before 3.17 have'
      .. ' 32, not ids of 16 bytes')
  end
  return left
end

-- Takes back those that have expired, `most` of them at the most, and tells. Returns how many are left then; `left` is how many
-- were.
local function reclaim(counter, permits, channel, left, most)
  local expired = math.min(redis.call('ZCOUNT', permits, '-inf', now_ms()), most)
  if expired == 0 then return left end
  redis.call('ZREMRANGEBYRANK', permits, '0', expired - 1)
  left = redis.call('INCRBY', counter, expired)
  if left > 0 then tell_number(channel, left) end
  return left
end
