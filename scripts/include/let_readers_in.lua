-- @needs micros, take_tokens, to_inbox
-- @leaves is_upgrade, is_reader, readers_beside, as_readers, settle, is_beside, put_back, upgrade_lease_in, let_readers_in
-- While readers have a lock its key is the word 'holdfast_readers', and a sorted set beside it has the time until which each of
-- them does: server's clock, milliseconds. The owner id of a reader ends in ':r', there and in the queue; that of an upgrade lease,
-- which is a reader of which there may be one at a time, in ':u'.
local function is_upgrade(waiter) return string.sub(waiter, -2) == ':u' end
local function is_reader(waiter) return string.sub(waiter, -2) == ':r' or is_upgrade(waiter) end
local function readers_beside(queue) return string.sub(queue, 1, -6) .. 'readers' end  -- in place of "queue"

-- A reader that came to a free lock without a script has it for itself: its owner id is the text of the lock's key, and there is no set.
-- Such a one becomes one of the readers, whatever stands in the set from before. Returns who has the lock then.
local function as_readers(lock, readers, holder)
  if type(holder) ~= 'string' or string.sub(holder, 37, 37) ~= ':' or string.sub(holder, -2) ~= ':r' then return holder end
  local left_ms = redis.call('PTTL', lock)
  if left_ms < 0 then return holder end
  left_ms = math.max(left_ms, 1)
  redis.call('ZCARD', readers)  -- another kind of key ends the script here
  redis.call('DEL', readers)
  redis.call('ZADD', readers, string.format('%.0f', math.floor(micros() / 1000) + left_ms), holder)
  redis.call('PEXPIRE', readers, left_ms)
  redis.call('SET', lock, 'holdfast_readers', 'PX', left_ms)
  return 'holdfast_readers'
end

-- Lets the lock of readers end with the last of them.
local function settle(lock, readers)
  local left_ms = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')[2] - math.floor(micros() / 1000)
  redis.call('PEXPIRE', lock, left_ms)
  redis.call('PEXPIRE', readers, left_ms)
end

-- While the slot is on its way to another node of a cluster each key is at one of the two, and the set isn't among those that a caller
-- has named. Ends the script where it may be at the other one: a command for both keys is refused if one of them is missing.
local function is_beside(lock, readers) redis.call('EXISTS', lock, readers) end

-- Puts one back that was taken from the queue.
local function put_back(queue, waiter, since)
  redis.call('ZADD', queue, since, waiter)
  redis.call('PEXPIRE', queue, '60000')
end

-- The upgrade lease among the readers, and until when it is; nothing when there is none.
local function upgrade_lease_in(readers)
  local all = redis.call('ZRANGE', readers, '0', '-1', 'WITHSCORES')
  for i = 1, #all, 2 do
    if is_upgrade(all[i]) and tonumber(all[i + 1]) > micros() / 1000 then return all[i], tonumber(all[i + 1]) end
  end
end

-- Grants the lock, which is free, or about to be, or the readers', to all readers at the head of the queue, up to the first waiter
-- that wants to write, and tells each. Their token is newer than any before. A reader that nobody hears is gone. Those that wait for
-- an upgrade lease while another has it are passed over, and keep their places. `asker`, if given, is who asks, and is told by the
-- reply. `first`, if given, is a reader that has just been taken from the queue, and its ticket. Returns how many are in, 'mute' when
-- there is no right to publish, and whether any was passed over.
local function let_readers_in(lock, counter, queue, grant_ms, asker, first)
  local readers = readers_beside(queue)
  -- Before anything is written: another kind of key ends the script here, and so does a set that may be at another node.
  if type(redis.pcall('ZCARD', readers)) == 'table' or type(redis.pcall('EXISTS', lock, readers)) == 'table' then
    if first then put_back(queue, first[1], first[2]) end
    redis.call('ZCARD', readers)
    is_beside(lock, readers)
  end
  local shared = as_readers(lock, readers, redis.call('GET', lock)) == 'holdfast_readers'
  local token, until_ms, mute, taken
  local count, passed_over = 0, {}
  while not mute do
    local waiter, since = unpack(first or redis.call('ZPOPMIN', queue))
    first = nil
    if not waiter then break end
    local heard
    if is_upgrade(waiter) and taken == nil then taken = shared and upgrade_lease_in(readers) ~= nil end
    if is_upgrade(waiter) and taken then
      passed_over[#passed_over + 1] = {waiter, since}
      heard = 0
    elseif is_reader(waiter) then
      if not token then
        until_ms = string.format('%.0f', math.floor(micros() / 1000) + grant_ms)
        token = take_tokens(counter, redis.call('GET', counter), 1)
        if not shared then
          redis.call('DEL', readers)
          redis.call('SET', lock, 'holdfast_readers', 'PX', grant_ms)
        end
      end
      redis.call('ZADD', readers, until_ms, waiter)
      local number = string.sub(waiter, 38, -3)
      heard = waiter == asker and 1
        or to_inbox(waiter, queue, string.format('granted %s %.0f 1 %s', number, token, lock))
      if type(heard) == 'table' then
        mute, heard = 'mute', nil
      end
      if not heard or heard == 0 then
        redis.call('ZREM', readers, waiter)
      else
        count = count + 1
        if is_upgrade(waiter) then taken = true end
      end
    end
    if not heard then
      put_back(queue, waiter, since)
      break
    end
  end
  for _, each in ipairs(passed_over) do put_back(queue, each[1], each[2]) end
  if count > 0 then
    settle(lock, readers)
  elseif token and not shared then
    redis.call('DEL', lock)
  end
  return count, mute, #passed_over > 0
end
