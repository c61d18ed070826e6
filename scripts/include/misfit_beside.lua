-- @leaves misfit_beside
-- The error to reply when a key beside the lock is not of the type that it must have; nothing when it is, or is absent.
local function misfit_beside(key, wanted, description)
  local kind = redis.call('TYPE', key).ok
  if kind == wanted or kind == 'none' then return nil end
  return redis.error_reply('MISFIT a ' .. kind .. ', not ' .. description .. ' IN ' .. key)
end
