-- @needs publish
-- @leaves inbox_of, to_inbox
-- Puts a message into the inbox that a waiter's client has for this lock, a channel named as the keys beside it are. Returns how
-- many heard it, or the error when the right to publish is missing. `publish` is PUBLISH; or SPUBLISH, in a cluster: to the
-- node that has the lock; or UNCOUNTED, in a cluster of which it isn't known, or which can't (below 7): both ways, and the
-- message counts as heard, since PUBLISH doesn't count the listeners of other nodes, who hear it all the same.
local function inbox_of(waiter, queue)
  return string.sub(queue, 1, -6) .. 'inbox:' .. string.sub(waiter, 1, 36)  -- in place of "queue", or "token"
end
local function to_inbox(waiter, queue, message)
  local inbox = inbox_of(waiter, queue)
  if publish ~= 'UNCOUNTED' then return redis.pcall(publish, inbox, message) end
  redis.pcall('SPUBLISH', inbox, message)  -- an error where there is no such command
  local heard = redis.pcall('PUBLISH', inbox, message)
  return type(heard) == 'table' and heard or 1
end
