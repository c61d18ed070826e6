/// Waits until the state that a lock guards has changed, and tells others that it has.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast {

/// The condition of a lock, like a std::condition_variable_any for the leases of many processes.
///
///     holdfast::mutex guard{redis, "orders"};
///     holdfast::condition changed{redis, "orders"};               // the lock of that name
///     auto lease = guard.acquire();
///     changed.wait(lease, [&] { return orders_are_waiting(); });  // gives the lock back meanwhile
///     …
///     changed.notify_one();                                       // elsewhere, with the lock or without it
///
/// A lock has one condition. Its lease may be one of a mutex, fair_mutex or recursive_mutex, or one to write
/// of a shared_mutex, on the plain wire; but not one to write that was an upgrade lease before.
///
/// *Guarantees.* A wait gives the lock back, and is known to the server as waiting, in one step there. So
/// who has the lock next, and changes something, notifies those that wait for it: no notification is lost
/// between. Those that wait are notified in the order in which they began. A notification ends one wait:
/// after one message and a request, or within client_options::recheck if the message is lost. Then the lock
/// is acquired again, with a new token, before the wait returns; so it may return later than the time that
/// it was given.
///
/// *Waiters that leave.* Who was notified in the moment in which its time was up is told that it was. If a
/// wait is cancelled, or fails, or its client ends, after it was notified, and before it has heard that, the
/// next one is notified in its place; so is the next one if its process has died before it asked, after 2 s.
/// A process that had died before the notification is passed over: at once, or, if the server can't know that
/// (its machine is gone; wake::poll; a cluster before Redis 7), after ten times the waiter's
/// client_options::recheck.
///
/// *Not guaranteed.* A wait may end without a notification, as std's: when the server has lost its data, or
/// another one took over that lacks the waiter; when the waiter couldn't reach the server for ten times its
/// recheck, or its connection was broken when it was to be notified; or when it hears later than 2 s that it
/// was. Wait for a predicate. A notification that finds nobody is forgotten.
///
/// *The lease* is the same object before and after. While it waits it isn't valid, and no other thread may
/// call any function of it. What was given to on_lost(), and a token from lost(), go on with the lease that
/// is acquired again; lock_options::max_hold and max_renewals begin anew. If a wait throws, the lease is
/// over, lost_because() says why, and its listeners are told; except where it says "still held" below.
///
/// *On the wire.* Two sorted sets beside the lock (docs/protocol.md). `holdfast inspect` shows how many wait.
/// Redisson's locks know no conditions, so a lease on its wire is refused. With masters that vote there are
/// no conditions: the constructor throws std::errc::invalid_argument.
///
/// *Threads.* Many threads may use one object, each with a lease of its own.
///
/// *Cost.* A wait that is notified: a request to begin, one to look (two, if its client hasn't waited for the
/// lock for 2 s), and after the message one to hear of it and one for the lock; and one each
/// client_options::recheck. A notification: one request, and one message for each that is notified.
///
/// *Errors* of waits, besides those of acquiring the lock:
/// - errc::lost: the lease isn't held, or the server says that its lock is gone: somebody may have notified
///   in vain. Also if the connection broke, and it can't be told whether the wait had begun.
/// - errc::refused, wrong_type, unauthorized: the server said no. If it said so at the beginning of the wait,
///   the lease is still held.
/// - errc::unreachable: the server can't be asked until the end of the lease; or, at the end of the wait, for
///   the lock, for longer than client_options::patience. Without patience a wait takes the lock again however
///   long the server is away.
/// - std::errc::invalid_argument: the lease is of another lock or client, or of a kind without conditions. It
///   is still held.
/// - std::errc::resource_deadlock_would_occur: the lease was entered again (recursive_mutex::reenter), or too
///   many callbacks wait (see client). It is still held.
class HOLDFAST_EXPORT condition {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for a name that is empty, longer than 64 KiB, or
  /// can't be used in a cluster.
  condition(client& redis, std::string name);
  condition(condition const&) = delete;
  condition& operator=(condition const&) = delete;
  ~condition();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

  /// Waits until it is notified; or for no reason, as said above.
  void wait(lease& held) { (void)wait_within(held, std::nullopt, {}); }

  /// Waits until `ready()`, which is called while the lock is held.
  template <class Predicate>
  void wait(lease& held, Predicate ready) {
    while (!ready()) wait(held);
  }

  /// The same; ends also when `stop` is triggered. Returns `ready()`, and holds the lock in any case.
  template <class Predicate>
  [[nodiscard]] bool wait(lease& held, std::stop_token stop, Predicate ready) {
    while (!stop.stop_requested()) {
      if (ready()) return true;
      (void)wait_within(held, std::nullopt, stop);
    }
    return ready();
  }

  /// Waits at most `time` for the notification, and then for the lock. `timeout`: it wasn't notified, as the
  /// server says. When that can't be asked, the answer is `no_timeout`. Zero or less gives the lock back, and
  /// takes it again.
  template <class Rep, class Period>
  std::cv_status wait_for(lease& held, std::chrono::duration<Rep, Period> const& time) {
    return wait_within(held, to_wait(time), {});
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(lease& held, std::chrono::time_point<Clock, Duration> const& time) {
    return wait_within(held, to_wait(time), {});
  }

  /// Waits until `ready()`, and at most `time` (see wait_for above). Returns `ready()`.
  template <class Rep, class Period, class Predicate>
  [[nodiscard]] bool wait_for(lease& held, std::chrono::duration<Rep, Period> const& time, Predicate ready) {
    return wait_for(held, {}, time, std::move(ready));
  }
  template <class Clock, class Duration, class Predicate>
  [[nodiscard]] bool wait_until(lease& held, std::chrono::time_point<Clock, Duration> const& time,
                                Predicate ready) {
    return wait_until(held, {}, time, std::move(ready));
  }

  /// The same; ends also when `stop` is triggered.
  template <class Rep, class Period, class Predicate>
  [[nodiscard]] bool wait_for(lease& held, std::stop_token stop,
                              std::chrono::duration<Rep, Period> const& time, Predicate ready) {
    return wait_until(held, std::move(stop), std::chrono::steady_clock::now() + to_wait(time),
                      std::move(ready));
  }
  template <class Clock, class Duration, class Predicate>
  [[nodiscard]] bool wait_until(lease& held, std::stop_token stop,
                                std::chrono::time_point<Clock, Duration> const& time, Predicate ready) {
    while (!stop.stop_requested()) {
      if (ready()) return true;
      if (wait_within(held, to_wait(time), stop) == std::cv_status::timeout) break;
    }
    return ready();
  }

  // Asynchronous. `held` is taken, and `done` gets it back in any case. They do what wait() and wait_for()
  // do, without a thread that waits, and without a predicate: `done` looks, and waits again. `done` is called
  // once, on a client's thread or on a thread that is inside a call of a client; it holds the lock unless
  // there is a failure. `stop` ends the wait, which is no failure: the lock is acquired again. The lease that
  // is acquired again belongs to no thread (lock_options::detect_deadlock). The condition may be destroyed
  // meanwhile. When these throw, nothing was begun, and `held` is as before.

  /// `held`: valid, or with a failure as wait() would leave it. `status`: as that of wait_for().
  using wait_handler =
      move_only_function<void(lease held, std::cv_status status, std::exception_ptr failure)>;

  /// wait() and wait_for() without waiting, as said above.
  void async_wait(lease&& held, wait_handler done, std::stop_token stop = {}) {
    async_wait_within(held, std::nullopt, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_wait_for(lease&& held, std::chrono::duration<Rep, Period> const& time, wait_handler done,
                      std::stop_token stop = {}) {
    async_wait_within(held, to_wait(time), std::move(done), std::move(stop));
  }

  /// Notifies the one that waits longest. Returns how many were notified: 1, or 0 if nobody waits. It counts
  /// as soon as the server says so; the waiter then waits for the lock. One request, with the lock held or
  /// not. A request without an answer throws errc::unreachable: then it is unknown whether somebody was
  /// notified.
  std::int64_t notify_one();
  /// Notifies all that wait.
  std::int64_t notify_all();

 private:
  struct HOLDFAST_LOCAL impl;

  std::cv_status wait_within(lease& held, std::optional<std::chrono::nanoseconds> time, std::stop_token stop);

  void async_wait_within(lease& held, std::optional<std::chrono::nanoseconds> time, wait_handler done,
                         std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
