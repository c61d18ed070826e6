/// The exclusive lock: at most one holder of a name among all processes that use the same Redis.
#pragma once

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock on a name.
///
///     holdfast::mutex m{redis, "orders:42"};
///     { std::scoped_lock hold{m}; … }                   // as a std::timed_mutex
///     if (auto lease = m.try_acquire_for(2s)) { … }     // as a lease: token, deadline, loss
///
/// *Guarantees.*
/// - Exclusion while the lease is valid (see lease).
/// - No lost wake-up: a live waiter takes a free lock within a round trip normally, and within
///   client_options::recheck even if every message is lost.
/// - A lock never stays behind without a ttl.
/// - Callers of one process queue first come, first served. A newcomer of another process may overtake until
///   the first waiter has waited starvation_limit.
///
/// *Not guaranteed.* Order between processes. A lock doesn't survive a failover in which its key was lost.
///
/// *On the wire.* The plain format: a string key of the lock's name that holds the owner id. redsync,
/// redis-py, node-redlock and redis-plus-plus use the same format; they exclude Holdfast, and Holdfast
/// excludes them. See docs/protocol.md. With lock_options::wire = wire::redisson (or `?wire=redisson`):
/// Redisson's RLock, with `fenced` its RFencedLock, with wake::poll its RSpinLock. See docs/redisson.md, also
/// for what that wire doesn't allow.
///
/// *Cost.* Free lock: one request to acquire, one to release. Contended: no polling; about two requests per
/// handoff between processes, none inside one process.
///
/// *Operations and threads.* See exclusive_lock.
class HOLDFAST_EXPORT mutex : public exclusive_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB, or an option
  /// out of range.
  mutex(client& redis, std::string name, lock_options options = {});
};

}  // namespace holdfast
