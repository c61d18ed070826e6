-- @needs micros, misfit_of_text
-- @leaves barrier_in
-- The barrier under `key`: for how many parties, its generation, since which generation it knows how each has ended, and those that
-- were broken: lines "<generation> <why> <who>". When there is none, one that begins with the server's clock as its generation, which is
-- greater than all that the server may have lost. Nothing when the key is something else, and the error to reply.
local function barrier_in(key)
  local text = redis.pcall('GET', key)
  if not text then return {parties = 0, generation = micros(), since = micros(), breaks = '', fresh = true} end
  local parties, generation, since, breaks =
    string.match(type(text) == 'string' and text or '', '^holdfast_barrier (%d+) (%d+) (%d+)(.*)$')
  if not parties then return nil, misfit_of_text(key, text, 'a barrier') end
  return {parties = tonumber(parties), generation = tonumber(generation), since = tonumber(since), breaks = breaks}
end
