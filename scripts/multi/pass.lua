-- Gives several locks back while another caller of the same process waits for them (`next`): one request for both. Each of
-- them that somebody waits for elsewhere is granted to the first who does, however short it has waited, since its turn has
-- come; then `next` takes them all, or joins the queue of the first busy one.
-- Reply: {0} one of them was gone, {-1} it is somebody else's (in both cases nothing was done for `next`);
-- {1, first token, how many} `next` holds; {2, and all of busy_reply} `next` is queued.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
local next = ARGV[5]
local ttl_ms = ARGV[6]
local tokens = ARGV[7]
-- @include micros
-- @include take_tokens
-- @include join_queue
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include busy_reply
-- @include writing_ends
-- @include writing_begins
-- @include several
-- @include look_at_all
-- @include take_all
-- @include give_all_back
local names = several(keys, next)
local spoilt = look_at_all(names)
if spoilt then return spoilt end
local passed = true
for _, name in ipairs(names) do passed = passed and name.holder == next end
if not passed then
  local found = give_all_back(several(keys, owner), -math.huge, grant_ms)
  if found ~= 1 then return {found} end
  look_at_all(names)
end
local taken, busy = take_all(names, {ttl_ms = ttl_ms, tokens = tokens, mode = 'join', ticket = '',
                                     starvation_us = starvation_us, grant_ms = grant_ms})
if taken then return {1, unpack(taken)} end
return {2, unpack(busy)}
