-- @leaves rw_busy
-- The reply of an acquisition that found the read-write lock busy: {pttl, -1, 0, 0, one of the owners, -1}. Nobody waits in
-- a queue, and nothing tells since when it is held.
local function rw_busy(lock, left)
  local owner, cursor = '', '0'
  repeat
    local page = redis.call('HSCAN', lock, cursor, 'COUNT', '3')
    cursor = page[1]
    for i = 1, #page[2], 2 do
      if page[2][i] ~= 'mode' then owner = page[2][i] end
    end
  until owner ~= '' or cursor == '0'
  owner = string.gsub(owner, ':write$', '')
  return {left, -1, 0, 0, owner, -1}
end
