-- Looks at a lock and changes nothing. Whatever stands in its keys, and of whatever type, is an answer.
-- Reply: {type of the lock's key, the first 1024 bytes of it if it is a string (of readers a list: how many of them there are, and
-- owner, milliseconds left, owner, milliseconds left... of the first `most`, or of 100; of permits: how many there are, how many of
-- them are out, how many owners have some, and owner, milliseconds left, how many it has...; of a latch or barrier that string, how
-- many have counted or arrived, and member, score...; of a leader: owner, "leader", term, value, of which 1024 bytes if `most` is 0),
-- pttl, token counter, how many wait, the server's clock in microseconds, {owner, ticket, owner, ticket...} of the first `most` in the
-- queue, or for permits {owner, ticket, how many it waits for...}}, and where there is
-- anything in Redisson's format one more: what redisson_facts says. `scope` "both": of a lock of the plain wire, too, for which
-- nobody of Redisson's can be but waiting; "plain": also when the right to look at Redisson's is missing.
local lock = KEYS[1]
local counter = KEYS[2]
local queue = KEYS[3]
local most = ARGV[1]
local publish = ARGV[2]
local scope = ARGV[3]
local waiters = most
-- @include micros
-- @include redisson_facts
-- @include state_of
return state_of(lock, counter, queue)
