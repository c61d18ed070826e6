-- @needs owner
-- @leaves now, later, pop
-- Not in the text that is embedded: what stands above.
local now, later = 0
local function pop(list)
  local owner = owner
  return list[1] or later or now .. owner
end
