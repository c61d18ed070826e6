-- @needs micros, publish, inbox_of, to_inbox, is_upgrade, is_reader, readers_beside, upgrade_lease_in, let_readers_in, wake_next
-- @leaves drop_dead_writers, give_turns, others_wait
-- Takes those at the head of the queue out that want to write and won't: readers that wait behind them would wait for as long as
-- others read. Their process is gone (they have no inbox any more; one that came a moment ago may not have opened it yet), or stands
-- still. The tickets of those that go first by their policy are from years ago. One whose upgrade lease is over goes, too.
local function drop_dead_writers(lock, queue)
  local function is_in_vain(writer)
    if string.sub(writer, -2) ~= ':w' then return false end
    local lease = upgrade_lease_in(readers_beside(queue))
    return not lease or string.sub(lease, 1, 37) ~= string.sub(writer, 1, 37)
  end
  local function is_gone(writer, waited)
    if publish == 'UNCOUNTED' then return false end  -- other nodes may have its inbox
    if waited < 100000 then return false end
    local heard = redis.pcall('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', inbox_of(writer, queue))
    return not heard.err and heard[2] == 0
  end
  -- It is told to ask, and its ticket gets a half. Asking makes that whole again, whichever script it sends. If it hasn't asked when
  -- the key `doubt` ends, a second later, it stands still. It comes back to its place when it goes on, as its client has the ticket.
  local function stands_still(writer, since, waited)
    local doubt = string.sub(queue, 1, -6) .. 'doubt'
    if waited < 500000 or string.sub(writer, -2) == ':w' or redis.call('EXISTS', doubt) == 1 then return false end
    if since % 1 ~= 0 then return true end
    if type(to_inbox(writer, queue, 'woken ' .. string.sub(writer, 38) .. ' ' .. lock)) == 'table' then return false end
    local noted = redis.pcall('SET', doubt, writer, 'PX', '1000')
    if not noted.err then redis.pcall('ZADD', queue, string.format('%.1f', since + 0.5), writer) end
    return false
  end
  while true do
    local first, since = unpack(redis.call('ZRANGE', queue, '0', '0', 'WITHSCORES'))
    if not first or is_reader(first) then return end
    since = tonumber(since)
    local waited = (micros() - since) % 500000000000000
    if not is_in_vain(first) and not is_gone(first, waited) and not stands_still(first, since, waited) then return end
    redis.call('ZREM', queue, first)
  end
end

-- Gives a lock for which others wait to the first of them if it is free; if others read, readers at the head go in. `holder`: of the
-- lock; `asker`: who asks, see let_readers_in.
local function give_turns(lock, counter, queue, holder, asker, grant_ms)
  if not holder then
    wake_next(lock, counter, queue, 0, grant_ms, asker)
  elseif holder == 'holdfast_readers' then
    drop_dead_writers(lock, queue)
    let_readers_in(lock, counter, queue, grant_ms, asker)
  end
end

-- Whether anybody waits while others read, but for those at the head that want an upgrade lease: readers go in past these.
local function others_wait(queue)
  local ahead = 0
  while is_upgrade(redis.call('ZRANGE', queue, ahead, ahead)[1] or '') do ahead = ahead + 1 end
  return redis.call('ZCARD', queue) > ahead
end
