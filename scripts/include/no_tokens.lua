-- @leaves take_tokens
-- For wake_next, in place of take_tokens: what it keeps for a waiter has no tokens yet.
local function take_tokens() return 0, 0 end
