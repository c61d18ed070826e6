-- Announces a token without writing anything else: from now on writes with older ones are refused.
-- Reply: 1 it is the newest; 0 a newer one has been seen, and nothing was changed; an error BADMARK when the mark holds
-- something else.
local mark = KEYS[1]
local token = ARGV[1]
local remember_ms = ARGV[2]
-- @include fence_mark
local newest, unusable = newest_seen(mark)
if unusable then return unusable end
if is_older(token, newest) then return 0 end
set_mark(mark, token, remember_ms)
return 1
