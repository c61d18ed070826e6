-- @needs counter, owner, is_lasting
-- @leaves abandoned
-- For an owner without a lease: the key that says that it has given up, or was made to by force, and that copies of its requests may
-- still come. No lease of its ends what such a copy would take. Nothing for others, whose lease does.
local abandoned = is_lasting(owner) and string.sub(counter, 1, -6) .. 'done:' .. owner  -- in place of "token"
