-- Looks at the record of the last run under a lock, and changes nothing.
-- Reply: {the server's clock in microseconds, 1 if the lock is still held by who ran, else 0, {field, value, field, value...}}; the
-- list is empty when there is no record.
local lock = KEYS[1]
local record = KEYS[2]
-- @include micros
-- @include last_run
local fields, owner = last_run(record)
-- @include holder_on_either_wire
local held = owner ~= '' and holder_of(lock, string.sub(record, 1, -9) .. 'readers') == owner
return {micros(), held and 1 or 0, fields}
