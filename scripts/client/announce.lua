-- Says who a client is, for those whom it blocks: a hash that lives for `ttl_ms` after it was said last. `since` is the server's
-- clock in microseconds when it was said first. `traces`: which work holds its leases; empty for a client that never says that.
-- Reply: 1.
local record = KEYS[1]
local ttl_ms = ARGV[1]
local host = ARGV[2]
local pid = ARGV[3]
local program = ARGV[4]
local label = ARGV[5]
local traces = ARGV[6]
-- @include micros
redis.call('HSET', record, 'host', host, 'pid', pid, 'program', program, 'label', label)
if traces ~= '' then redis.call('HSET', record, 'traces', traces) end
redis.call('HSETNX', record, 'since', string.format('%.0f', micros()))
redis.call('PEXPIRE', record, ttl_ms)
return 1
