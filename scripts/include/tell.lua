-- @needs publish
-- @leaves tell
-- Tells those who wait on `channel`: '0' wakes one waiter of each process, '1' all of them; a channel '' tells nobody. Returns how many
-- heard it; nothing when that can't be known: nobody was told, others than this server have listeners, or the right to publish is
-- missing (what was done is done all the same, and they find out by themselves). `publish` is PUBLISH; or SPUBLISH, in a cluster whose
-- messages go to the node that has the lock; or UNCOUNTED, in one of which that isn't known: both ways, and one of them is heard.
-- With SPUBLISH, too, Redisson may listen in the other way, as before 3.22 or by mistake since. It does so at the server of the
-- lock, and what is said in that way goes to every node: so it is said only if somebody listens, or that can't be asked.
local function tell(channel, message)
  if channel == '' then return nil end
  if publish == 'UNCOUNTED' then
    redis.pcall('SPUBLISH', channel, message)  -- an error where there is no such command
    redis.pcall('PUBLISH', channel, message)
    return nil
  end
  local heard = redis.pcall(publish, channel, message)
  if type(heard) == 'table' then return nil end
  if publish ~= 'SPUBLISH' or redis.pcall('PUBSUB', 'NUMSUB', channel)[2] == 0 then return heard end
  local more = redis.pcall('PUBLISH', channel, message)
  return type(more) == 'table' and heard or heard + more
end
