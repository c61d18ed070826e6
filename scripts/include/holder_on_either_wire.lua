-- @needs owner
-- @leaves holder_of
-- Who has a lock, on whichever wire it is: of one of Redisson's `owner`, if it has a hold there, or nobody whom we know (''); nil
-- when it is free.
local function holder_of(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then return nil end
  if kind == 'string' then return redis.call('GET', key) end
  if kind ~= 'hash' then return '' end
  return redis.call('HEXISTS', key, owner) + redis.call('HEXISTS', key, owner .. ':write') > 0 and owner or ''
end
