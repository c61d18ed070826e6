-- @needs micros, misfit_of_text
-- @leaves latch_in
-- The latch under `key`: how often it is still to be counted down, of how many times, and when its time is over (ms by the server's
-- clock; 0: never). Nothing when there is none; after nothing the error to reply, when the key is something else or its time is over.
local function latch_in(key)
  local text = redis.pcall('GET', key)
  if not text then return nil end
  local left, of, ends_ms = string.match(type(text) == 'string' and text or '', '^holdfast_latch (%d+) (%d+) (%d+)$')
  if not left then return nil, misfit_of_text(key, text, 'a latch') end
  local ago_ms = tonumber(ends_ms) > 0 and math.floor(micros() / 1000) - ends_ms or -1
  if ago_ms >= 0 then return nil, redis.error_reply(string.format('EXPIRED %s %s %.0f', left, of, ago_ms)) end
  return tonumber(left), of, ends_ms
end
