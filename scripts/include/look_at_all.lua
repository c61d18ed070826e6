-- @leaves look_at_all
-- Looks at all names before anything is written: who holds each, its counter, since when its owner is in its queue. Returns
-- nothing; or the error to reply when a key is no lock, or a key beside it is something else: it names the lock.
local function look_at_all(names)
  for _, name in ipairs(names) do
    local spoilt = name.kind.look(name)
    if spoilt then return redis.error_reply(spoilt) end
    name.last = redis.pcall('GET', name.counter)
    name.queued = redis.pcall('ZSCORE', name.queue, name.owner)
    spoilt = name.last and not tonumber(name.last) and 'WRONGTYPE'
    for _, reply in ipairs({name.last or 0, name.queued or 0}) do
      if type(reply) == 'table' then spoilt = reply.err end
    end
    if spoilt and string.sub(spoilt, 1, 9) ~= 'WRONGTYPE' then return redis.error_reply(spoilt) end
    if spoilt then return redis.error_reply('WRONGTYPE beside ' .. name.lock) end
  end
end
