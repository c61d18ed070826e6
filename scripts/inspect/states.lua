-- Looks at several locks, and changes nothing.
-- KEYS: each lock, followed by its counter and its queue. Reply: of each what inspect/state replies if its `most` is 0, but with the
-- first `waiters` of the queue.
local names = {unpack(KEYS)}
local waiters = ARGV[1]
local publish = ARGV[2]
local scope = ARGV[3]
local most = '0'
-- @include micros
-- @include redisson_facts
-- @include state_of
local answer = {}
for i = 1, #names, 3 do answer[#answer + 1] = state_of(names[i], names[i + 1], names[i + 2]) end
return answer
