-- Tells those who wait on `channel`: '0' wakes one waiter of each process, '1' all of them; a channel '' tells nobody. Returns how many
-- heard it; nothing when that can't be known: nobody was told, others than this server have listeners, or the right to publish is
-- missing (what was done is done all the same, and they find out by themselves). `publish` is PUBLISH; or SPUBLISH, in a cluster whose
-- messages go to the node that has the lock; or UNCOUNTED, in one of which that isn't known: both ways, and one of them is heard.
local function tell(channel, message)
  if channel == '' then return nil end
  if publish == 'UNCOUNTED' then
    redis.pcall('SPUBLISH', channel, message)  -- an error where there is no such command
    redis.pcall('PUBLISH', channel, message)
    return nil
  end
  local heard = redis.pcall(publish, channel, message)
  return type(heard) ~= 'table' and heard or nil
end
