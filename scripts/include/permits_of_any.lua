-- @leaves lock, counter, queue, size, turn_to
-- The keys that `permits` is about, for a script that is about the permits of several names: those of one after the other.
local lock, counter, queue, size
local function turn_to(name)
  lock, counter, queue, size = name.lock, name.counter, name.queue, name.size
end
