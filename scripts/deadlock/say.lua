-- Says beside locks for what the thread that holds them waits, or, with `number` 0, that it waits no longer. `wait` is the same
-- through the whole wait; `number` says how often that was said. `former`: another text that was said before, or empty.
-- Reply: 1.
local keys = {unpack(KEYS)}
local wait = ARGV[1]
local number = ARGV[2]
local ttl_ms = ARGV[3]
local former = ARGV[4]
for _, key in ipairs(keys) do
  if number == '0' then
    redis.call('ZREM', key, wait)
  else
    redis.call('ZADD', key, number, wait)
    redis.call('PEXPIRE', key, ttl_ms)
    if former ~= '' then redis.call('ZREM', key, former) end
  end
end
return 1
