-- Who leads. What is said of somebody who doesn't hold the lock any more is said of nobody.
-- Reply: {pttl of the lock, owner, term, value}; {pttl} when its holder has said nothing yet, or isn't a leader; {-2} nobody holds it;
-- an error WRONGTYPE when the key is not a lock.
local lock = KEYS[1]
local leader = KEYS[2]
local holder = redis.pcall('GET', lock)
if type(holder) == 'table' then
  return redis.error_reply('WRONGTYPE ' .. redis.call('TYPE', lock).ok)
end
local kind = string.match(holder or '', '^holdfast_(%a+) ')
if kind then return redis.error_reply('WRONGTYPE ' .. kind) end
local left = {redis.call('PTTL', lock)}
if not holder then return left end
local said = {}
local fields = redis.pcall('HGETALL', leader)
for i = 1, #fields, 2 do said[fields[i]] = fields[i + 1] end
if said.owner ~= holder or not said.term or not said.value then return left end
return {left[1], said.owner, said.term, said.value}
