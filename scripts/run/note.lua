-- Notes a run under a lock in place of the one before, for as long as its runner holds the lock: once when it begins, with an empty
-- `took_ms` and `exit_code`, and once at its end. It counts until `counts_until`, 0: it doesn't.
-- Reply: 1; 0 the lock isn't the owner's, and nothing was changed.
local lock = KEYS[1]
local record = KEYS[2]
local owner = ARGV[1]
local began = ARGV[2]
local counts_until = ARGV[3]
local took_ms = ARGV[4]
local exit_code = ARGV[5]
local host = ARGV[6]
local pid = ARGV[7]
local label = ARGV[8]
local token = ARGV[9]
local life_ms = ARGV[10]
-- @include holder_on_either_wire
if holder_of(lock, string.sub(record, 1, -9) .. 'readers') ~= owner then return 0 end
-- First at an end, which is to be known also at maxmemory: HSET isn't refused behind it.
if took_ms ~= '' then redis.call('PEXPIRE', record, life_ms) end
redis.call('HSET', record, 'owner', owner, 'began', began, 'until', counts_until, 'took_ms', took_ms, 'exit', exit_code,
  'host', host, 'pid', pid, 'label', label, 'token', token)
redis.call('PEXPIRE', record, life_ms)
return 1
