/// The exclusive lock of several independent Redis masters: it survives the loss of a minority of them.
#pragma once

#include <holdfast/exclusive_lock.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock on a name, which whoever has a majority of the masters' votes holds.
///
///     holdfast::client redis{"redis+quorum://h1,h2,h3,h4,h5"};
///     holdfast::quorum_mutex m{redis, "orders:42"};
///     if (auto lease = m.try_acquire_for(2s)) { … }
///
/// The masters know nothing of each other: no replication, no cluster. Use 3 or 5, on machines that don't
/// fail together.
///
/// *Guarantees.* Those of mutex, as long as a majority of the masters keeps what it has acknowledged: while
/// fewer than half are down, frozen or cut off the lock goes on working, and nobody is kept waiting for those
/// that don't answer. Fencing tokens grow strictly from lease to lease, whichever masters made the majority.
/// A lease ends, and its holder is told, when a majority can't be had any more. What is left behind when a
/// wait ends is nothing, also at masters that didn't answer in time: it is given back behind the request.
///
/// *Not guaranteed.* Order between processes, strictly: a release keeps the lock for the first waiter for
/// half a second, but the masters may disagree who that is. And a master that comes back *without its data*
/// has forgotten its vote: keep it away for longer than the longest ttl (delayed rejoin), or have it write
/// each change to disk (`appendonly yes`, `appendfsync always`); `holdfast doctor` looks at that.
///
/// *Clocks.* Rates must differ by less than 1 %, as for all locks. The masters' times of day matter only for
/// a master that lost its data: they must differ by less than the time it is kept away for.
///
/// *Against RedLock as published.* All masters are asked at once; tokens; a vote that was split leaves one
/// contender ahead instead of none; waiters are woken by messages; renewal by majority, with the earliest
/// of its requests as the lease's beginning; a master that lost the lock gets it again in the background.
/// docs/quorum.md argues why it is safe.
///
/// *On the wire.* At each master what mutex has there. With wire::redisson what RedissonRedLock over RLocks
/// of that name has, and they exclude and wake each other; without tokens.
///
/// *Cost.* One request to each master to acquire, and one to release, in one round trip; a second round trip
/// when the masters' token counters have come apart (after one was away, say). Waiting costs one message per
/// master and handoff. One connection to each master, and one more for messages once it has to wait.
///
/// *Options.* `ttl` at least 100 ms. `starvation_limit` has no effect: each release keeps the lock for the
/// first waiter (with wire::redisson none does). `replicas` and `fenced` are refused: see above.
///
/// *Operations and threads.* See exclusive_lock.
class quorum_mutex : public exclusive_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for a client whose URL isn't redis+quorum://, an
  /// empty name, one of over 64 KiB, or an option out of range. Two masters that turn out to be one server
  /// are refused by the first acquisition that has met both: errc::bad_url.
  quorum_mutex(client& redis, std::string name, lock_options options = {});

  /// Whether the client's URL names masters that vote: then this is the one kind of lock that it has, and
  /// otherwise one that it hasn't.
  [[nodiscard]] static bool is_for(client const& redis) noexcept;
};

}  // namespace holdfast
