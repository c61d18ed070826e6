-- @needs publish
-- @leaves tell_observers
-- Tells all who observe the leader to look. The channel has the name of the key. Who may not publish leaves them to their next look.
-- `publish`: see to_inbox.
local function tell_observers(leader, term)
  if publish ~= 'UNCOUNTED' then
    redis.pcall(publish, leader, 'leader ' .. term)
    return
  end
  redis.pcall('SPUBLISH', leader, 'leader ' .. term)  -- an error where there is no such command
  redis.pcall('PUBLISH', leader, 'leader ' .. term)
end
