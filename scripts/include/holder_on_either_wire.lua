-- @needs owner
-- @leaves holder_of
-- Who has a lock, on whichever wire it is: of several readers or permits, or of one of Redisson's, `owner`, if it has a hold there, or
-- nobody whom we know (''); nil when it is free. `readers`: those of the plain wire.
local function holder_of(key, readers)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then return nil end
  if kind == 'string' then
    local holder = redis.call('GET', key)
    if holder == owner .. ':r' or string.match(holder, '^holdfast_permit %d+ (.+)$') == owner then return owner end
    if holder ~= 'holdfast_readers' then return holder end
    local function has(side) return type(redis.pcall('ZSCORE', readers, owner .. side)) == 'string' end
    return (has(':r') or has(':u')) and owner or ''
  end
  if kind == 'zset' then return redis.call('ZSCORE', key, owner) and owner or '' end
  if kind ~= 'hash' then return '' end
  return redis.call('HEXISTS', key, owner) + redis.call('HEXISTS', key, owner .. ':write') > 0 and owner or ''
end
