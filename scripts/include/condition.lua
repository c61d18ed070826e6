-- @needs lock, queue, waiting, counting, grant_ms, micros, to_inbox
-- @leaves now_ms, notify_first, let_go_of_dead
-- Those that wait on a condition are in the sorted set `waiting`, by the time since which they do: microseconds, an even number, and 1
-- more once the waiter's inbox is open. `counting` has the time until which each counts as alive. A waiter that was notified is in
-- `counting` alone, until it has asked, or its time is over.
local function now_ms() return math.floor(micros() / 1000) end

-- Notifies the one that waits longest and can be reached. It has `grant_ms` to hear of it. Where its inbox was open, and nobody hears
-- the message, its process is gone. Returns how many were notified: 1 or 0.
local function notify_first()
  while true do
    local first = redis.call('ZPOPMIN', waiting)
    local owner = first[1]
    if not owner then return 0 end
    local heard = to_inbox(owner, queue, 'ready ' .. string.sub(owner, 38) .. ' ' .. lock)
    if heard ~= 0 or first[2] % 2 == 0 then
      -- It was there, unless that key alone was lost.
      local anew = redis.call('ZADD', counting, string.format('%.0f', now_ms() + grant_ms), owner) == 1
      if anew then redis.call('PEXPIRE', counting, '60000') end
      return 1
    end
    redis.call('ZREM', counting, owner)
  end
end

-- Takes those out whose time is over. What was given to one of them, and not heard, goes to the next.
local function let_go_of_dead()
  local unheard = 0
  while true do
    local first = redis.call('ZRANGE', counting, '0', '0', 'WITHSCORES')
    if not first[1] or tonumber(first[2]) > now_ms() then break end
    if redis.call('ZREM', waiting, first[1]) == 0 then unheard = unheard + 1 end
    redis.call('ZREM', counting, first[1])
  end
  for _ = 1, unheard do notify_first() end
end
