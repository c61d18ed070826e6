-- @needs micros, tell
-- @leaves now_ms, drop_dead, tell_head
-- The queue of Redisson's fair lock: a list of owners, and a sorted set that says when each counts as dead, in milliseconds
-- since the epoch (ours: by the server's clock). Each waits on a channel of its own.
local function now_ms() return math.floor(micros() / 1000) end

-- Takes those at the head out that count as dead; one without a score never does. Returns the head that is left (false: none),
-- and whether any was taken out.
local function drop_dead(queue, timeouts)
  local any = false
  while true do
    local head = redis.call('LINDEX', queue, '0')
    local dies_at = head and redis.call('ZSCORE', timeouts, head)
    if not dies_at or tonumber(dies_at) > now_ms() then return head, any end
    redis.call('LPOP', queue)
    redis.call('ZREM', timeouts, head)
    any = true
  end
end

local function tell_head(head, channel)
  if head and channel ~= '' then tell(channel .. ':' .. head, '0') end
end
