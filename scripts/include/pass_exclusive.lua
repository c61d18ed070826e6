-- @needs lock, counter, queue, owner, next, ttl_ms, tokens, take_tokens
-- @leaves holder, last
-- What all that pass the exclusive lock of the plain wire on to `next` begin with: the very steps, as in take_exclusive. Ends the
-- script where `next` holds already, or `owner` doesn't. `last` is the counter as GET gave it.
local holder = redis.pcall('GET', lock)
if holder == next then
  redis.call('PEXPIRE', lock, ttl_ms)
  return {1, take_tokens(counter, redis.call('GET', counter), tokens)}
end
if holder ~= owner then return {holder and -1 or 0} end
-- Side keys of another kind end the script here, before anything is written.
redis.call('ZCARD', queue)
local last = redis.call('GET', counter)
if last and not tonumber(last) then return redis.error_reply('WRONGTYPE the token counter is no number') end
