-- Takes a lock from its holders, if the one that was seen there still is in it: `field` is a reader's owner id, a writer's with
-- `:write` behind it, or empty for whoever is in it. A reader goes alone, with all of its holds, as if it had released each: which
-- mends a count that is too high. Otherwise the lock ends, with all keys of its readers, and all who wait are told. Of these keys at
-- most 10,000 are deleted, whatever the counts say: the others end by themselves.
-- Reply: 1 done; 0 the lock was gone; -1 the key is something else, or that one isn't in it.
local lock = KEYS[1]
local field = ARGV[1]
local lives = ARGV[2]
local publish = ARGV[3]
local channel = ARGV[4]
-- @include rw_look
-- @include tell
-- @include rw_settle
local most = 10000
local function end_holds(reader, count)
  local holds = math.max(0, math.min(tonumber(count) or 0, most))
  most = most - holds
  for hold = 1, holds do redis.call('DEL', lives .. reader .. ':rwlock_timeout:' .. hold) end
end
local mode, _, misfit = rw_look(lock)
if misfit or field == 'mode' then return -1 end
if not mode then return 0 end
local count = field ~= '' and redis.call('HGET', lock, field)
if field ~= '' and not count then return -1 end
if count and not string.find(field, ':write$') then
  redis.call('HDEL', lock, field)
  end_holds(field, count)
  rw_settle(lock, mode, lives, channel)
  return 1
end
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do end_holds(fields[i], fields[i + 1]) end
redis.call('DEL', lock)
tell(channel, '1')
return 1
