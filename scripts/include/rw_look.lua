-- @leaves rw_look
-- How a read-write lock stands: 'read', 'write' or nothing when it is free; and its pttl, -2 when it is free. Third, what to
-- reply when the key is something else.
local function rw_look(lock)
  local mode = redis.pcall('HGET', lock, 'mode')
  if type(mode) == 'table' and not string.find(mode.err, 'WRONGTYPE', 1, true) then return nil, -1, mode end
  local left = redis.call('PTTL', lock)
  if mode == 'read' or mode == 'write' then return mode, left end
  if left == -2 then return nil, left end
  local kind = redis.call('TYPE', lock).ok
  if kind == 'hash' then kind = 'hash of another kind' end
  return nil, left, redis.error_reply('MISFIT a ' .. kind .. ', not the hash of a read-write lock')
end
