-- @leaves newest_seen, is_older, set_mark
-- The mark of a fenced resource: the newest fencing token that came with a write, as decimal text. Tokens are compared as
-- text, since a Lua number has only 53 bits. newest_seen returns the mark or nothing, or why it can't be used.
local function newest_seen(mark)
  local newest = redis.pcall('GET', mark)
  if type(newest) == 'table' and not string.find(newest.err, 'WRONGTYPE', 1, true) then return nil, newest end
  if newest and (type(newest) == 'table' or not string.find(newest, '^[1-9]%d*$')) then
    return nil, redis.error_reply('BADMARK the mark of the fence is no token')
  end
  return newest
end
local function is_older(token, newest)
  return newest and (#token < #newest or (#token == #newest and token < newest))
end
local function set_mark(mark, token, remember_ms)
  if remember_ms == '0' then redis.call('SET', mark, token) else redis.call('SET', mark, token, 'PX', remember_ms) end
end
