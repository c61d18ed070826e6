-- Gives each lease of several names of mixed kinds a full ttl, if all of them still are its owner's: `leases` are an owner, how many names
-- are its own, and the kind of each of these (see mixed_names). `keys` are all locks, then of each its readers, or any key. A lease
-- that has lost one is lost, and isn't renewed.
-- Reply: the places (from 1) of the leases that are lost: n when the first lost name is gone, -n when others have it.
local keys = {unpack(KEYS)}
local ttl_ms = ARGV[1]
local leases = {unpack(ARGV, 2)}
-- @include micros
-- @include renew_reading
-- @include renew_permits
local now_ms, last, place, n, lost = math.floor(micros() / 1000), 0, 1, 0, {}
while leases[place] do
  local owner, count, missing = leases[place], tonumber(leases[place + 1])
  for i = 1, count do
    local lock, readers, kind = keys[last + i], keys[#keys / 2 + last + i], leases[place + 1 + i]
    local has, holder
    if kind == 'write' then
      holder = redis.pcall('GET', lock)
      has = holder == owner
    elseif kind == 'read' then
      has, holder = reads(lock, readers, owner .. ':r', now_ms)
      if holder == 'holdfast_readers' then holder = nil end
    else
      has, holder = has_permits(lock, owner, now_ms)
      if type(holder) ~= 'table' then holder = nil end
    end
    if not has then missing = missing or (holder and -1 or 1) end
  end
  n = n + 1
  if missing then lost[#lost + 1] = n * missing end
  for i = 1, missing and 0 or count do
    local lock, readers, kind = keys[last + i], keys[#keys / 2 + last + i], leases[place + 1 + i]
    if kind == 'write' then
      redis.call('PEXPIRE', lock, ttl_ms)
    elseif kind == 'read' then
      read_on(lock, readers, owner .. ':r', now_ms, ttl_ms)
    else
      keep_permits(lock, owner, now_ms, ttl_ms)
    end
  end
  last, place = last + count, place + 2 + count
end
return lost
