-- @needs micros, publish, inbox_of, is_reader, readers_beside, upgrade_lease_in
-- @leaves drop_dead_writers
-- Takes those at the head of the queue out that want to write and have no inbox any more, since their process is gone: readers that
-- wait behind them would wait for as long as others read. One that came a moment ago may not have opened its inbox yet. The tickets
-- of those that go first by their policy are from years ago. One whose upgrade lease is over goes, too: its process stands still, or
-- it would have gone by itself.
local function drop_dead_writers(queue)
  local function is_in_vain(writer)
    if string.sub(writer, -2) ~= ':w' then return false end
    local lease = upgrade_lease_in(readers_beside(queue))
    return not lease or string.sub(lease, 1, 37) ~= string.sub(writer, 1, 37)
  end
  local function is_gone(writer, since)
    if publish == 'UNCOUNTED' then return false end  -- other nodes may have its inbox
    if (micros() - since) % 500000000000000 < 100000 then return false end
    local heard = redis.pcall('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', inbox_of(writer, queue))
    return not heard.err and heard[2] == 0
  end
  while true do
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    if not first[1] or is_reader(first[1]) then return end
    if not is_in_vain(first[1]) and not is_gone(first[1], first[2]) then return end
    redis.call('ZREM', queue, first[1])
  end
end
