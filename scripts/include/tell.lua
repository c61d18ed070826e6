-- Tells those who wait on `channel` that a lock is free; '' tells nobody. Returns how many heard it; nothing when that can't be
-- known: nobody was told, or the right to publish is missing (and the lock is free all the same).
local function tell(channel)
  if channel == '' then return nil end
  local heard = redis.pcall('PUBLISH', channel, '0')
  return type(heard) ~= 'table' and heard or nil
end
