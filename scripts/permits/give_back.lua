-- Gives back `number` permits without a lease, whoever took them: first those of `client`, as far as they are among the hundred that
-- were taken last. Where fewer are out the others are new permits, unless permits with leases are out: then nothing is done.
-- `offered`: as in acquire.
-- Reply: 1 done, by this copy of the request or an earlier one; an error MISFIT when the key is something else, or all that is out is
-- leased.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local size = KEYS[4]
local done = KEYS[5]
local answered = {unpack(KEYS, 6)}
local number = ARGV[1]
local client = ARGV[2]
local offered = ARGV[3]
local grant_ms = ARGV[4]
local publish = ARGV[5]
local done_ms = ARGV[6]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include once
-- @include permits
if redis.call('EXISTS', done) == 1 then return 1 end
local spoilt = look(offered)
if spoilt then return spoilt end
drop_expired()
local wanted, found, chosen = tonumber(number), 0, {}
local function is_lasting(owner) return string.sub(owner, -2) == ':l' end

-- Their times are the last of all. `first`: that many are passed over. Returns whether there may be more of them behind these hundred.
local times = redis.call('ZCOUNT', lock, '-inf', string.format('(%.0f', heavy))
local function choose(first, meant)
  local last = times - first - 1
  local owners = last > 0 and redis.call('ZRANGE', lock, math.max(last - 99, 0), last) or {}
  for n = #owners, 1, -1 do
    local owner = owners[n]
    if not is_lasting(owner) then return false end
    if found < wanted and meant(string.sub(owner, 1, 36) == client) then
      local has = weight_in(lock, owner)
      local given = math.min(has, wanted - found)
      found = found + given
      chosen[#chosen + 1] = {owner, has - given}
    end
  end
  return #owners == 100
end
local more = choose(0, function(own) return own end)
choose(0, function(own) return not own end)
local first = 100
while more and found < wanted do
  more = choose(first, function() return true end)
  first = first + 100
end
if found < wanted and out > found then
  return redis.error_reply(string.format(
    'MISFIT %.0f permits with leases, of an expiring_semaphore, not %.0f permits without leases, of a semaphore', out - found, wanted))
end

local total = math.min((limit or 0) + wanted - found, 2147483647)
local _, failure
if found < wanted then
  _, failure = once(done, 1, done_ms, answered, 'SET', size, string.format('%.0f', total))
else
  _, failure = once(done, 1, done_ms, answered, 'ZADD', lock, found - out, marker())
end
if failure then return failure end
local function take_from_chosen()
  for _, each in ipairs(chosen) do
    local owner, rest = each[1], each[2]
    if rest > 1 then
      redis.call('ZADD', lock, string.format('%.0f', heavy + rest), owner .. ':p')
    else
      redis.call('ZREM', lock, owner .. ':p', rest == 0 and owner or owner .. ':p')
    end
  end
  out = out - found
end
take_from_chosen()
set_limit(total)
pcall(let_in, grant_ms)  -- as in release
-- Those that are left may have leases only, or what a message granted, and the key ends with the last of them.
times = redis.call('ZCOUNT', lock, '0', string.format('(%.0f', heavy))
local last = times > 0 and redis.call('ZRANGE', lock, times, times, 'WITHSCORES') or {}
if last[1] then redis.call('PEXPIRE', lock, math.max(last[2] - now_ms(), 1) + 1000) end
end_empty()
return 1
