-- Ends a wait for several locks: the caller leaves their queues, gives back what it was granted or has kept meanwhile, and
-- passes on a wake-up that it was given (it is in none of the queues any more) and didn't use.
-- Reply: 1 some of the locks were the caller's and are released; 0 none was.
local keys = {unpack(KEYS)}
local owner = ARGV[1]
local starvation_us = ARGV[2]
local grant_ms = ARGV[3]
local publish = ARGV[4]
-- @include micros
-- @include take_tokens
-- @include to_inbox
-- @include let_readers_in
-- @include wake_next
-- @include several
local names = several(keys)
local told, any = true, 0
for _, name in ipairs(names) do
  name.queued = redis.pcall('ZREM', name.queue, owner) == 1
  if name.queued then told = false end
  name.holder = redis.pcall('GET', name.lock)
  if name.holder == owner then
    redis.call('DEL', name.lock)
    any = 1
  end
end
for _, name in ipairs(names) do
  if name.holder == owner or (told and not name.holder) then
    pcall(wake_next, name.lock, name.counter, name.queue, starvation_us, grant_ms)
  elseif name.queued and name.holder == 'holdfast_readers' then
    pcall(let_readers_in, name.lock, name.counter, name.queue, grant_ms)  -- as in abandon_exclusive
  end
end
return any
