-- @leaves is_lasting
-- Whether that is the id of an owner whose permits have no lease.
local function is_lasting(owner) return string.sub(owner, -2) == ':l' end
