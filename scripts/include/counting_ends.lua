-- @needs turn_to, look, take_out, drop_expired, let_in, end_empty
-- @leaves at, counting
-- The same as writing_ends, for names of which it has permits.
local counting = {}

-- What `permits` is about from here on. Returns the error to reply when the key is something else.
local function at(name)
  turn_to(name)
  return look(name.offered)
end

function counting.give(name)
  local fine, spoilt = pcall(at, name)
  if not fine or spoilt then return -1 end
  name.given = take_out(name.owner)
  return name.given and 1 or 0
end
function counting.tell(name, _, grant_ms)
  if at(name) then return end
  drop_expired()
  pcall(let_in, grant_ms)  -- as in permits/release
  end_empty()
end
function counting.unqueue(name) return redis.pcall('ZREM', name.queue, name.owner, name.owner .. ':p') ~= 0 end
function counting.make_way(name, grant_ms) counting.tell(name, nil, grant_ms) end
