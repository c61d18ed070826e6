-- @needs barrier, arrived, channel, tell
-- @leaves store, end_generation
-- Ends the generation of a barrier, and tells those who wait: opened; or broken, when there is a `cause`, "<why> <who>". Nobody has
-- arrived for the next one. Of the last 32 that were broken it is remembered why.
local function store(at)
  local text = string.format('holdfast_barrier %d %.0f %.0f%s', at.parties, at.generation, at.since, at.breaks)
  redis.call('SET', barrier, text, 'PX', '86400000')
end
local function end_generation(at, cause)
  redis.call('DEL', arrived)  -- first: it needs no memory, and SET isn't refused behind it
  if cause then
    at.breaks = string.format('%s\n%.0f %s', at.breaks, at.generation, (string.gsub(cause, '%c', '?')))
    local _, count = string.gsub(at.breaks, '\n', '')
    if count > 32 then
      local oldest, rest = string.match(at.breaks, '^\n(%d+)[^\n]*(.*)$')
      at.since, at.breaks = oldest + 1, rest
    end
  end
  at.generation = at.generation + 1
  store(at)
  tell(channel, '0')
end
