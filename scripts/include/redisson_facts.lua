-- @needs micros, publish, scope
-- @leaves redisson_facts
-- What stands under a name in the form of one of Redisson's objects, as {word, value, word, value...}; empty when nothing
-- does. Keys beside the lock's own are named here, as by Redisson's own scripts. One that can't be read counts as absent:
-- whoever looks at plain locks needs no right to them; with `scope` "both" it is said what was refused.
local function redisson_facts(lock, kind, text, pttl, most)
  local limit = most > 0 and most or 100
  local facts = {}
  local function say(word, value)
    facts[#facts + 1] = word
    facts[#facts + 1] = value
  end
  local refused
  local function try(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then return reply end
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then refused = reply.err end
    return nil
  end
  local tagged = string.find(lock, '{', 1, true)
  local function prefixed(prefix) return tagged and prefix .. ':' .. lock or prefix .. ':{' .. lock .. '}' end
  local function suffixed(suffix) return (tagged and lock or '{' .. lock .. '}') .. ':' .. suffix end
  local function say_listeners(word, channel)
    local in_slot = publish == 'SPUBLISH' and try('PUBSUB', 'SHARDNUMSUB', channel) or {}
    local plain = try('PUBSUB', 'NUMSUB', channel) or {}
    local count = (in_slot[2] or 0) + (plain[2] or 0)
    if count > 0 then say(word, count) end
  end
  local function say_counter_listeners()
    say_listeners('semaphore listeners', prefixed('redisson_sc'))
    say_listeners('latch listeners', 'redisson_countdownlatch__channel__{' .. lock .. '}')
  end
  local function say_fair_queue()
    local count = try('LLEN', prefixed('redisson_lock_queue')) or 0
    if count == 0 then return end
    local entries = {}
    if most > 0 then
      for _, owner in ipairs(try('LRANGE', prefixed('redisson_lock_queue'), 0, most - 1) or {}) do
        entries[#entries + 1] = owner
        entries[#entries + 1] = try('ZSCORE', prefixed('redisson_lock_timeout'), owner) or ''
      end
    end
    say('fair', count)
    say('fair queue', entries)
  end
  -- Of a reader's holds the one that lasts longest. Nobody's count is higher than some, unless by mistake.
  local function ttl_of_reader(owner, count)
    local longest = -2
    for n = 1, math.min(tonumber(count) or 0, 16) do
      local ttl = try('PTTL', suffixed(owner) .. ':rwlock_timeout:' .. n) or -2
      if ttl == -1 then return -1 end
      longest = math.max(longest, ttl)
    end
    return math.max(longest, 0)
  end
  local function look_at_read_write(mode)
    local count = redis.call('HLEN', lock)
    local fields = count <= limit + 1 and redis.call('HGETALL', lock) or redis.call('HSCAN', lock, '0', 'COUNT', limit)[2]
    local holders = {}
    for i = 1, #fields, 2 do
      local owner, holds = string.sub(fields[i], 1, 1023), string.sub(fields[i + 1], 1, 31)
      if owner ~= 'mode' then
        holders[#holders + 1] = owner
        holders[#holders + 1] = holds
        holders[#holders + 1] = string.sub(owner, -6) == ':write' and pttl or ttl_of_reader(owner, holds)
      end
    end
    say('mode', mode)
    say('holding', count - 1)
    say('holders', holders)
    say_listeners('listeners', prefixed('redisson_rwlock'))
  end
  local function look_at_hash()
    local mode = redis.call('HSTRLEN', lock, 'mode') <= 5 and redis.call('HGET', lock, 'mode')
    if mode == 'read' or mode == 'write' then return look_at_read_write(mode) end
    if redis.call('HLEN', lock) ~= 1 then return end
    local owner = redis.call('HKEYS', lock)[1]
    if string.sub(owner, 37, 37) ~= ':' then return end  -- that of no client
    local holds = redis.call('HSTRLEN', lock, owner) <= 31 and redis.call('HGET', lock, owner) or 'too long to be a number'
    say('holding', 1)
    say('holders', {string.sub(owner, 1, 1023), holds, pttl})
    local token = try('GET', prefixed('redisson_lock_token'))
    if token then say('token', string.sub(token, 1, 31)) end
    say_fair_queue()
    say_listeners('listeners', prefixed('redisson_lock__channel'))
  end
  local function look_at_string()
    local ids = suffixed('timeout')
    local out = try('ZCARD', ids)
    if out and out > 0 then
      local now = string.format('%.0f', math.floor(micros() / 1000))
      say('expired', redis.call('ZCOUNT', ids, '0', now))
      say('holding', out)
      say('permits', redis.call('ZRANGEBYSCORE', ids, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', '0', limit))
    elseif not string.match(text, '^%-?%d+$') or pttl >= 0 then
      return
    elseif not out and try('EXISTS', ids) == 1 then
      say('beside', ids)
    end
    say('number', text)
    say_counter_listeners()
  end
  local function look_at_nothing()
    say_fair_queue()
    say_listeners('listeners', prefixed('redisson_lock__channel'))
    say_listeners('listeners', prefixed('redisson_rwlock'))
    say_counter_listeners()
  end
  if kind == 'hash' then
    look_at_hash()
  elseif kind == 'string' then
    look_at_string()
  elseif kind == 'none' then
    look_at_nothing()
  end
  if refused and scope == 'both' then say('refused', refused) end
  return facts
end
