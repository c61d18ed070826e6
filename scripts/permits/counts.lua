-- Counts permits; those whose time is over are left, and given to the first in the queue. `offered`: as in acquire.
-- Reply: {how many are left, how many there are altogether (-1: nobody has said), how many are out}; an error MISFIT when the key is something else.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local offered = ARGV[1]
local grant_ms = ARGV[2]
local publish = ARGV[3]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include permits
local spoilt = look(offered)
if spoilt then return spoilt end
drop_expired()
pcall(let_in, grant_ms)  -- as in release
end_empty()
return {(limit or 0) - out, limit or -1, out}
