-- @leaves misfit_of_counter, count_tokens
-- The fencing tokens of Redisson: a counter that starts at 1, without a ttl.

-- The error to reply when the key is something else; nothing when it isn't.
local function misfit_of_counter(counter)
  local last = redis.pcall('GET', counter)
  if type(last) == 'table' then
    if not string.find(last.err, 'WRONGTYPE', 1, true) then return last end
    last = redis.call('TYPE', counter).ok
  elseif not last or string.find(last, '^%d+$') then
    return nil
  else
    last = 'string without a number'
  end
  return redis.error_reply('MISFIT a ' .. last .. ', not the token counter of a lock of Redisson IN ' .. counter)
end

-- Takes as many. Returns the first, and how many.
local function count_tokens(counter, count)
  return redis.call('INCRBY', counter, count) - count + 1, tonumber(count)
end
