-- @leaves look_at_all
-- Looks at all names before anything is written: who holds each, its counter, since when `owner` is in its queue. Returns
-- nothing; or the error to reply when a key is no lock, or a key beside it is something else: it names the lock.
local function look_at_all(names, owner)
  for _, name in ipairs(names) do
    name.holder = redis.pcall('GET', name.lock)
    if type(name.holder) == 'table' then
      return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', name.lock).ok .. ' ' .. name.lock)
    end
    name.last = redis.pcall('GET', name.counter)
    name.queued = redis.pcall('ZSCORE', name.queue, owner)
    local spoilt = name.last and not tonumber(name.last) and 'WRONGTYPE'
    for _, reply in ipairs({name.last or 0, name.queued or 0}) do
      if type(reply) == 'table' then spoilt = reply.err end
    end
    if spoilt and string.sub(spoilt, 1, 9) ~= 'WRONGTYPE' then return redis.error_reply(spoilt) end
    if spoilt then return redis.error_reply('WRONGTYPE beside ' .. name.lock) end
  end
end
