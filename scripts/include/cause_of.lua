-- @leaves cause_of
-- Why a generation of a barrier that is over didn't open for somebody who had arrived for it, "<why> <who>"; nothing when it opened.
-- `lost`: what is said of one that the server doesn't know of.
local function cause_of(at, generation, lost)
  local cause = string.match(at.breaks, string.format('\n%.0f ([^\n]*)', generation))
  if generation < at.since or generation > at.generation then cause = cause or lost end
  return cause
end
