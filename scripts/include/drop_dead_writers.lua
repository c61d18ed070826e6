-- @needs micros, publish, inbox_of, is_reader
-- @leaves drop_dead_writers
-- Takes those at the head of the queue out that want to write and have no inbox any more, since their process is gone: readers that
-- wait behind them would wait for as long as others read. One that came a moment ago may not have opened its inbox yet. The tickets
-- of those that go first by their policy are from years ago.
local function drop_dead_writers(queue)
  if publish == 'UNCOUNTED' then return end  -- other nodes may have their inboxes
  while true do
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    if not first[1] or is_reader(first[1]) then return end
    if (micros() - first[2]) % 500000000000000 < 100000 then return end
    local inbox = inbox_of(first[1], queue)
    local heard = redis.pcall('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', inbox)
    if heard.err or heard[2] > 0 then return end
    redis.call('ZREM', queue, first[1])
  end
end
