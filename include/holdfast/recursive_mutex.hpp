/// The exclusive lock that its holder may take again.
#pragma once

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock that its holder may lock again, like a std::recursive_timed_mutex. The holder is a
/// thread.
///
///     holdfast::recursive_mutex m{redis, "orders:42"};
///     void book() { std::scoped_lock hold{m}; … charge(); }
///     void charge() { std::scoped_lock hold{m}; … }             // no request: this thread has it
///
/// *Guarantees.* Those of mutex. It is the same lock as a mutex of its name. If the thread that holds it
/// calls `lock` or a `try_lock` function, the count goes up; `unlock` counts down, and the last one gives the
/// lock back. The count is kept in this process: nesting asks no server, and the key looks like that of any
/// mutex (on Redisson's wire, like an RLock that is held once).
///
/// *If the lock is lost meanwhile*, locking it again throws errc::lost, also with try_lock: what the nested
/// call was to guard isn't guarded. Each lock() that succeeded still needs its unlock(). After the last one
/// the thread may lock anew.
///
/// *Nesting deeper* than a million throws std::errc::resource_unavailable_try_again.
///
/// *Leases know no threads.* acquire() by the thread that holds the lock waits, as for any other holder. Code
/// that was handed a lease enters again with it: see reenter().
class HOLDFAST_EXPORT recursive_mutex : public exclusive_lock {
 public:
  /// As mutex's constructor.
  recursive_mutex(client& redis, std::string name, lock_options options = {});

  /// A further lease on the acquisition behind `held`: same owner, token, deadline and loss. No request. The
  /// lock is given back when the last of these leases is released; release() of the others returns `released`
  /// at once. Meant for code without threads of its own (callbacks, coroutines), which passes its lease on to
  /// what it calls. Throws std::errc::invalid_argument if `held` is a lease of another lock, or came from
  /// another client; errc::lost if it isn't held any more. Other threads may use `held` meanwhile, but must
  /// not release it.
  using exclusive_lock::reenter;
};

}  // namespace holdfast
