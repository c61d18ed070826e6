/// The exclusive lock that its holder may take again.
#pragma once

#include <holdfast/exclusive_lock.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock that the thread that holds it may lock again, like a std::recursive_timed_mutex.
///
///     holdfast::recursive_mutex m{redis, "orders:42"};
///     void book() { std::scoped_lock hold{m}; … charge(); }
///     void charge() { std::scoped_lock hold{m}; … }             // no request: this thread has it
///
/// *Guarantees.* Those of mutex; it is the same lock as a mutex of its name. `lock` and the `try_lock`
/// functions of the thread that holds it count up, `unlock` counts down, and the last one gives the lock
/// back. The count is kept in this process: nesting asks no server, and the key looks like any mutex's (on
/// Redisson's wire like an RLock's that is held once).
///
/// *When the lock is lost meanwhile*, locking it again throws errc::lost, also try_lock: what a nested call
/// was told to guard isn't guarded. Each lock() that succeeded still needs its unlock(); after the last the
/// thread may lock anew.
///
/// *Nesting deeper* than a million throws std::errc::resource_unavailable_try_again.
///
/// *Leases know no threads*: acquire() by the thread that holds the lock waits, as for any other holder. Code
/// that was handed a lease enters again by it: see reenter().
class recursive_mutex : public exclusive_lock {
 public:
  /// As mutex's.
  recursive_mutex(client& redis, std::string name, lock_options options = {});

  /// A further lease on the acquisition behind `held`: same owner, token, deadline and loss. No request. The
  /// lock is given back when the last of them is released; the others' release() answers `released` at once.
  /// For code without threads of its own (callbacks, coroutines), which passes its lease on to what it calls.
  /// Throws std::errc::invalid_argument when `held` is a lease of another lock, or came from another client;
  /// errc::lost when it isn't held any more. `held` may be in use by other threads, but not in release.
  using exclusive_lock::reenter;
};

}  // namespace holdfast
