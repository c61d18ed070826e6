-- Runs one write unless a newer token than the caller's has been seen, and makes the caller's the newest.
-- `done` belongs to this one request: it says for `done_ms` that the write was made, so that a copy of the request which
-- comes later, by whatever way, changes nothing. `answered` are those of earlier requests that no copy is left of.
-- Reply: 1 written, by this copy or an earlier one; 0 refused, a newer token has been seen; an error BADMARK when the mark
-- holds something else; the error of the write itself, and then nothing was changed.
local mark = KEYS[1]
local target = KEYS[2]
local done = KEYS[3]
local answered = {unpack(KEYS, 4)}
local token = ARGV[1]
local remember_ms = ARGV[2]
local done_ms = ARGV[3]
local command = ARGV[4]
local rest = {unpack(ARGV, 5)}
-- @include fence_mark
if redis.call('GET', done) == 'written' then return 1 end
local newest, unusable = newest_seen(mark)
if unusable then return unusable end
if is_older(token, newest) then return 0 end
-- What Redis refuses (no memory, no right to our keys) it refuses here, before the caller's data is touched.
redis.call('SET', done, 'begun', 'PX', done_ms)
local result = redis.pcall(command, target, unpack(rest))
if type(result) == 'table' and result.err then
  redis.pcall('DEL', done)
  return result
end
set_mark(mark, token, remember_ms)
redis.call('SET', done, 'written', 'PX', done_ms)
if #answered > 0 then redis.pcall('DEL', unpack(answered)) end
return 1
