-- What a script may use: Redis's Lua. tools/check-lua runs luacheck.
std = "lua51"
read_globals = {"KEYS", "ARGV", "redis", "cjson", "cmsgpack", "bit", "struct"}
not_globals = {"debug", "dofile", "io", "loadfile", "module", "os", "package", "print", "require"}
max_line_length = false
-- Of two functions that an include leaves, or two results of a call, one is enough.
unused_secondaries = false
