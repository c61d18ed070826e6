-- Tells those who wait for a read-write lock: '0' wakes one waiter of each process, '1' all of them. Returns how many
-- processes heard it: none without a channel, or without the right to publish; then they find out by themselves.
local function rw_tell(channel, message)
  if channel == '' then return 0 end
  local heard = redis.pcall('PUBLISH', channel, message)
  return type(heard) == 'table' and 0 or heard
end
