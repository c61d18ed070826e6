-- What several clients say of themselves.
-- Reply: of each what inspect/record replies.
local records = {unpack(KEYS)}
local answer = {}
for i, record in ipairs(records) do
  answer[i] = redis.call('TYPE', record).ok == 'hash' and redis.call('HGETALL', record) or {}
end
return answer
