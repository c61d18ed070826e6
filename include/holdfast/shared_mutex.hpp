/// The read-write lock: any number of readers, or one writer.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_view.hpp>
#include <holdfast/options.hpp>
#include <holdfast/upgradable_lock.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

/// A read-write lock on a name, like a std::shared_timed_mutex. It works with std::shared_lock and
/// std::unique_lock.
///
///     holdfast::shared_mutex m{redis, "prices"};
///     { std::shared_lock reading{m}; … }                       // with other readers
///     { std::scoped_lock writing{m}; … }                       // alone
///     if (auto lease = m.try_acquire_shared_for(2s)) { … }     // as a lease: deadline, loss
///
/// *Guarantees.* While a writer's lease is valid, no other lease of the name is. Leases of readers may be
/// valid together. Each lease is renewed, has its deadline, and is told of its loss, like that of a mutex.
///
/// *On the plain wire* (lock_options::wire) this is the lock of a mutex of its name: writers, readers,
/// mutexes, and the locks of redsync, redis-py and others exclude one another.
/// - *Order.* lock_options::policy says who goes first. `fair`: who came first, over all processes; readers
///   that are next to one another in the queue go in together. A reader that comes while a writer waits waits
///   behind it. A mutex of the name may overtake, as it does among mutexes.
/// - *Tokens.* That of a writer is greater than that of every lease before. That of a reader is no less than
///   that of the last writer, and may be the same.
/// - *Dead holders and waiters.* Each reader has a deadline of its own in the server, so a dead one delays a
///   writer by what is left of its own ttl. A dead writer that waits delays readers by no more than a
///   re-check, one whose process stands still by a second and a re-check.
/// - *Upgrade.* One caller at a time may have the upgrade lease: it reads beside the others, and turns into a
///   writer when they have gone (upgrade()), ahead of all that wait. So two that read and want to write don't
///   wait for each other: the second one waits for the upgrade lease. A dead one delays others by what is
///   left of its own ttl. With `prefer_readers` readers overtake who waits to upgrade, as they overtake
///   writers. Its functions are those of upgradable_lock.
/// - *Inside one process* readers that come within a millisecond of one another share one acquisition (at
///   most handoff_limit of them; with `prefer_readers` for handoff_time). Each has a lease of its own; they
///   share owner(). A writer never hands the lock over in the process: the server chooses.
/// - *Cost.* Free: one request to acquire, one to release. A release wakes one writer, or the readers at the
///   head of the queue, each process of them with one message.
/// - *Not guaranteed.* `fair` needs messages: among those that poll (wake::poll) there is no order.
///
/// *On Redisson's wire* this is an RReadWriteLock. It isn't the same lock as a mutex of its name: the second
/// of the two to come fails with errc::wrong_type. A writer may never get its turn while readers of other
/// processes come and go: they don't know of it, because the format has no place to say that somebody waits.
/// Callers of one client do: readers and writers that wait take turns in the order in which they came, those
/// that read together going in together. A reader that would have to wait for a writer in its client finds
/// the lock busy; it waits for no longer than `recheck` once its client's readers have gone. There is no
/// order between processes, and token() is 0. Readers of one process share an acquisition within
/// handoff_time. A message on the lock's channel wakes one waiter in each process, which asks again. See
/// docs/redisson.md.
///
/// *On etcd* it is the lock of a mutex of its name, and of Go's concurrency.Mutex and `etcdctl lock`: all go
/// in the order of arrival, so a policy other than `fair` is refused. Each token is greater than all before.
/// There is no upgrade lease, and no downgrade: std::errc::not_supported. See docs/etcd.md.
///
/// *Options.* `starvation_limit` has no effect, nor has `fenced`, which Redisson's wire refuses; `replicas`
/// as for a mutex.
///
/// *Threads.* As exclusive_lock. A thread that reads may lock to read again (counted). A thread that would
/// wait for itself gets std::errc::resource_deadlock_would_occur: lock() by a thread that reads or writes,
/// and lock_shared() by a thread that writes (see unlock_and_lock_shared).
class HOLDFAST_EXPORT shared_mutex : public upgradable_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or, on Redisson's wire or in a cluster, whose braces don't fit (see
  /// lock_options::wire).
  shared_mutex(client& redis, std::string name, lock_options options = {});
  shared_mutex(shared_mutex const&) = delete;
  shared_mutex& operator=(shared_mutex const&) = delete;
  ~shared_mutex();  ///< Unlocks if a thread left it locked.

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

  /// The writer, as Cpp17TimedLockable. These functions do and throw the same as those of exclusive_lock.
  void lock();
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_for(to_wait(time));
  }
  void unlock();

  /// The readers, as Cpp17SharedTimedLockable.
  void lock_shared();
  [[nodiscard]] bool try_lock_shared();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_shared_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_shared_for(to_wait(time));
  }
  void unlock_shared();

  /// The thread that writes becomes a reader, and other readers may come. Nobody writes in between. One
  /// request. Throws std::errc::operation_not_permitted if this thread doesn't write; errc::lost if the lock
  /// was lost meanwhile (it is unlocked then).
  void unlock_and_lock_shared();

  /// How the last unlock(), or unlock_shared(), of this object ended; empty before the first one.
  [[nodiscard]] std::optional<release_result> last_release() const noexcept;

  /// The lease behind the lock that this thread has locked, to write or to read: see
  /// exclusive_lock::current().
  [[nodiscard]] lease_view current() const;

  /// Lease style: see exclusive_lock. Leases know no threads: a caller that holds a lease to read, and waits
  /// for one to write, waits for itself; as does one that waits for another lease to read while a writer
  /// waits.
  [[nodiscard]] lease acquire(std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire();
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(std::chrono::duration<Rep, Period> const& wait,
                                                     std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(std::chrono::time_point<Clock, Duration> const& time,
                                                       std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), std::move(stop));
  }
  [[nodiscard]] lease acquire_shared(std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire_shared();
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_shared_for(std::chrono::duration<Rep, Period> const& wait,
                                                            std::stop_token stop = {}) {
    return try_acquire_shared_within(to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_shared_until(
      std::chrono::time_point<Clock, Duration> const& time, std::stop_token stop = {}) {
    return try_acquire_shared_within(to_wait(time), std::move(stop));
  }

  /// Turns a lease to write, or the upgrade lease, into a lease to read. Nobody writes in between, and
  /// readers that wait are told, as is the next caller that wants the upgrade lease. lost() and on_lost() of
  /// `held` tell of the loss of the result. One request, and more while the server says that it can't just
  /// now (LOADING, BUSY). Throws:
  /// - std::errc::invalid_argument if `held` is not a lease to write, or the upgrade lease, of this lock and
  ///   client;
  /// - errc::lost if it isn't held any more (it is empty then, as after release());
  /// - errc::unreachable and the like if the server can't be asked before the deadline, or refuses (the lock
  ///   is given back then, or left to its ttl by lock_options::keep).
  [[nodiscard]] lease downgrade(lease held);

  /// The same without waiting: see exclusive_lock.
  void async_acquire(acquire_handler done, std::stop_token stop = {});
  void async_acquire_shared(acquire_handler done, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), std::move(stop));
  }
  void async_try_acquire_shared(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_shared_within({}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_shared_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                                    std::stop_token stop = {}) {
    async_try_acquire_shared_within(to_wait(wait), std::move(done), std::move(stop));
  }

  /// Who held the lock when an acquisition of this object last found it busy: see
  /// exclusive_lock::last_busy(). If several readers held it, this is one of them.
  [[nodiscard]] std::optional<busy_info> last_busy();

 private:
  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait);
  [[nodiscard]] bool try_lock_shared_within(std::chrono::nanoseconds wait);
  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop);
  [[nodiscard]] std::optional<lease> try_acquire_shared_within(std::chrono::nanoseconds wait,
                                                               std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);
  void async_try_acquire_shared_within(std::chrono::nanoseconds wait, acquire_handler done,
                                       std::stop_token stop);
};

}  // namespace holdfast
