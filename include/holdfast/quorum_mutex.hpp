/// The exclusive lock of several independent Redis masters: it survives the loss of a minority of them.
#pragma once

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock on a name. It is held by the client that has the votes of a majority of the masters.
///
///     holdfast::client redis{"redis+quorum://h1,h2,h3,h4,h5"};
///     holdfast::quorum_mutex m{redis, "orders:42"};
///     if (auto lease = m.try_acquire_for(2s)) { … }
///
/// The masters know nothing of each other: no replication, no cluster. Use 3 or 5, on machines that don't
/// fail together.
///
/// *Guarantees.* Those of mutex, as long as a majority of the masters keeps what it has acknowledged. While
/// fewer than half are down, frozen or cut off, the lock goes on working, and nobody waits for masters that
/// don't answer. Fencing tokens grow strictly from lease to lease, whichever masters made the majority. A
/// lease ends, and its holder is told, when a majority can't be had any more. A wait that ends leaves nothing
/// behind, not even at masters that didn't answer in time: the request that gives back follows the one that
/// asked.
///
/// *Not guaranteed.* Strict order between processes: a release keeps the lock for the first waiter for half a
/// second, but the masters may disagree about who that is.
///
/// *Rule.* A master that comes back *without its data* has forgotten its vote. Keep it away for longer than
/// the longest ttl (delayed rejoin), or let it write each change to disk (`appendonly yes`, `appendfsync
/// always`). `holdfast doctor` checks that.
///
/// *Clocks.* Rates must differ by less than 1 %, as for all locks. The masters' times of day matter only for
/// a master that lost its data: they must differ by less than the time for which it is kept away.
///
/// *Compared with RedLock as published.* All masters are asked at once. There are fencing tokens. After a
/// split vote one contender is ahead instead of none. Messages wake waiters. A majority renews a lease, which
/// counts from the earliest of the requests. A master that lost the lock gets it again in the background.
/// docs/quorum.md argues why it is safe.
///
/// *On the wire.* At each master the keys of mutex. With wire::redisson those of RedissonRedLock over RLocks
/// of that name: the two exclude and wake each other. There are no tokens then.
///
/// *Cost.* One request to each master to acquire, and one to release, in one round trip. A second round trip
/// if the masters' token counters have come apart, for example after one was away. Waiting costs one message
/// per master and handoff. One connection to each master, and one more for messages once the client has to
/// wait.
///
/// *Options.* `ttl` is at least 100 ms. `starvation_limit` has no effect: each release keeps the lock for the
/// first waiter (with wire::redisson no release does). `replicas` and `fsynced` are refused, and `fenced`
/// with wire::redisson: see above.
///
/// *Operations and threads.* See exclusive_lock.
class HOLDFAST_EXPORT quorum_mutex : public exclusive_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for a client whose URL isn't redis+quorum://, for a
  /// name that is empty or longer than 64 KiB, and for an option out of range. If two masters turn out to be
  /// one server, the first acquisition that has met both throws errc::bad_url.
  quorum_mutex(client& redis, std::string name, lock_options options = {});

  /// Whether the client's URL names masters that vote. If so, this is the only kind of lock that the client
  /// supports; if not, it doesn't support it.
  [[nodiscard]] static bool is_for(client const& redis) noexcept;
};

}  // namespace holdfast
