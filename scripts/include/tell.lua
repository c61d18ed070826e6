-- Tells those who wait on `channel`: '0' wakes one waiter of each process, '1' all of them; a channel '' tells nobody. Returns how many
-- heard it; nothing when that can't be known: nobody was told, or the right to publish is missing (what was done is done all the same,
-- and they find out by themselves).
local function tell(channel, message)
  if channel == '' then return nil end
  local heard = redis.pcall('PUBLISH', channel, message)
  return type(heard) ~= 'table' and heard or nil
end
