-- @leaves newest_ask
-- The number of the newest ask with which `owner` has got this vote; 0 if that was its first ever, or it has not. What has a
-- smaller one was overtaken: a copy that a broken connection delivers late.
local function newest_ask(mark, owner)
  local known = redis.call('GET', mark)
  if not known or string.sub(known, 1, #owner + 1) ~= owner .. ' ' then return 0 end
  return tonumber(string.sub(known, #owner + 2))
end
