local owner = ARGV[1]
local ids = {unpack(ARGV, 2)}
-- @include pop
-- @include last
-- A comment may stand here.
