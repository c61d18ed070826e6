-- @leaves once
-- Runs one command and notes under `done`, for `done_ms`, that this was done: both or neither. These objects have no owners, so
-- nothing else would tell a request that is sent again. `answered` are notes of earlier requests that no copy is left of. Returns
-- the command's reply; or nothing, and the error to reply.
local function once(done, note, done_ms, answered, ...)
  redis.call('SET', done, note, 'PX', done_ms)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    redis.pcall('DEL', done)
    return nil, reply
  end
  if #answered > 0 then redis.pcall('DEL', unpack(answered)) end
  return reply
end
