-- A script with everything in it; also what CMake trips over: ; [ ] \ " and an unbalanced [[ in a string.
local lock = KEYS[1]
local others = {unpack(KEYS, 2)}
local owner = ARGV[1]
local ttl_ms = ARGV[2]
local ids = {unpack(ARGV, 3)}
-- @include pop
local text = "[[;\\\"@lock@ ${lock}" .. lock .. owner;
local t = {others[1]; ids[1]}
if ttl_ms then return pop(t) end

return {text, t}
