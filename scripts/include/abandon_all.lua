-- @needs writing, back_to_upgrade
-- @leaves abandon_all
-- Ends a wait for several names: the owner leaves their queues, gives back what it was granted or has kept meanwhile, and
-- passes on a wake-up that it was given (it is in none of the queues any more) and didn't use. One that writes in place of an upgrade
-- lease leaves that in: see stay. Returns 1 if it had any, else 0.
local function abandon_all(names, starvation_us, grant_ms)
  local told, any = true, 0
  for _, name in ipairs(names) do
    name.queued = name.kind.unqueue(name)
    if name.queued then told = false end
    local stays = name.kind == writing
      and back_to_upgrade(name.lock, name.counter, name.queue, name.owner, redis.pcall('GET', name.lock))
    if stays then
      name.holder, any = 'holdfast_readers', 1
    elseif name.kind.give(name) == 1 then
      any = 1
    end
  end
  for _, name in ipairs(names) do
    if name.given or told then
      pcall(name.kind.tell, name, starvation_us, grant_ms)
    elseif name.queued then
      pcall(name.kind.make_way, name, grant_ms)
    end
  end
  return any
end
