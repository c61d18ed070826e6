-- @needs micros, take_tokens
-- @leaves goes_short, take_all
-- Is it in one of the phases in which a waiter keeps what it gets? See take_all.
local function goes_short(ticket, limit)
  local age = (micros() - ticket) / math.max(tonumber(limit), 1)
  return age >= 1 and math.floor(math.log(age) / math.log(2)) % 2 == 0
end

-- Takes all names if each is free or the owner's; they share their tokens, which are newer than any of them has given.
-- Otherwise, with mode "join", waits in the queue of the first that is busy, with the age that it has, and as a rule keeps
-- none: what it was granted, and the wake-up that it was given, go to whoever waits next for that name.
--
-- The exception is for one that goes short: names that come free at different times may never be free together. From its
-- starvation limit on it keeps, in the order of the names, those that are before the first busy one, for `grant_ms` at a
-- time: so all who keep any keep them in the same order, and wait for nobody who waits for them. Not always, but in every
-- second doubling of its age: a program that takes the names one by one in another order would wait for it for ever. Nor while
-- it stands aside.
--
-- Expects what look_at_all found. Returns {first token, how many}; or nil and the reply about the first busy name, which asks to
-- come back in time for what is kept.
local function take_all(names, how)
  local busy, last, told = nil, 0, how.ticket ~= ''
  for i, name in ipairs(names) do
    if name.queued then told = false end
    name.kind.see(name, how)
    if not name.free then busy = busy or i end
    last = math.max(last, tonumber(name.last or 0))
  end
  if not busy then
    for _, name in ipairs(names) do
      name.kind.take(name, how.ttl_ms)
      if name.queued then name.kind.unqueue(name) end
    end
    local first, count = take_tokens(names[1].counter, last > 0 and last, how.tokens)
    for i = 2, #names do
      redis.call('SET', names[i].counter, string.format('%.0f', first + count - 1), 'EX', '86400')
    end
    return {first, count}
  end
  local at_name = names[busy]
  if how.mode == 'ask' then return nil, at_name.kind.busy(at_name) end
  local ticket = how.ticket
  for i, name in ipairs(names) do
    if name.queued and i ~= busy then
      name.kind.unqueue(name)
      if ticket == '' then ticket = name.queued end
      pcall(name.kind.make_way, name, how.grant_ms)  -- as in give_all_back
    end
  end
  ticket = at_name.kind.join(at_name, ticket)
  local keeps = not at_name.aside and goes_short(ticket, how.starvation_us)
  for i, name in ipairs(names) do
    local kept = keeps and i < busy
    if name.free and kept then
      name.kind.take(name, how.grant_ms)
    elseif name.free and (name.held or told or name.queued) then
      if name.held then name.kind.give(name) end
      pcall(name.kind.tell, name, how.starvation_us, how.grant_ms)
    end
  end
  local reply = at_name.kind.busy(at_name, ticket)
  if keeps and busy > 1 then
    -- The caller adds two milliseconds for each place in the queue.
    local soon = math.max(how.grant_ms / 4 - 2 * reply[2], 0)
    if reply[1] < 0 or reply[1] > soon then reply[1] = soon end
  end
  return nil, reply
end
