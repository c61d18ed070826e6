/// What all exclusive locks have in common: how to take them, and how to give them back.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_view.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

namespace engine {
struct exclusive_kind;
}

/// The operations of mutex, fair_mutex, recursive_mutex and quorum_mutex, in three styles: as a
/// std::timed_mutex, as leases, and asynchronous. Only those four classes derive from it.
///
/// *Threads.* Many threads may use one object, like a std::mutex. Several objects of one kind and name are
/// the same lock. `lock` and `unlock` belong to threads, of which each object knows its own: the thread that
/// locked unlocks, by the same object, and one that locks once more by another object waits for itself. A
/// thread that ends without doing so gives the lock back at its end, with a warning in the log. A lease
/// belongs to the code that has the object.
class HOLDFAST_EXPORT exclusive_lock {
 public:
  /// Called once: with the lease; or with neither, if the lock stayed busy for the time given; or with the
  /// error.
  using acquire_handler = move_only_function<void(std::optional<lease>, std::exception_ptr)>;

  exclusive_lock(exclusive_lock const&) = delete;
  exclusive_lock& operator=(exclusive_lock const&) = delete;

  // Cpp17TimedLockable: for std::unique_lock, std::scoped_lock, std::lock.

  /// Waits for the lock and holds it for this thread. If the server doesn't answer within connect_timeout,
  /// the call throws errc::unreachable; once the server has answered it, the call waits through all outages.
  /// client_options::patience sets another limit for both.
  ///
  /// Throws std::errc::resource_deadlock_would_occur if this thread holds the lock already (a recursive_mutex
  /// counts instead), errc::unreachable and the like if the server can't be asked, and errc::wrong_type if
  /// the key holds another type, or a number that never expires: a counter, for example, is not a lock. Any
  /// other string that never expires may be somebody's lock, and is waited for; busy_info tells.
  void lock();

  /// Takes the lock if it is free. Never waits for another holder. Throws as lock(), but returns `false` to
  /// the thread that holds it already.
  [[nodiscard]] bool try_lock();

  /// Takes the lock; waits at most `wait` for it. Returns `false` if it stayed busy. Zero or less tries once,
  /// as try_lock() does; so a deadline may just have passed.
  ///
  /// The call waits for a server that can't be reached in all of `wait` (or for client_options::patience),
  /// and then throws errc::unreachable.
  ///
  /// A server that hasn't answered by then doesn't count as a busy lock. The call waits for the answer at
  /// most connect_timeout + reply_timeout longer (client_options; with `replicas` or `fsynced` another
  /// reply_timeout), also while the server loads its data. Then it throws errc::unreachable, or the error
  /// that the server gave.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_for(to_wait(time));
  }

  /// Gives the lock back. Throws std::errc::operation_not_permitted if this thread doesn't hold it. A lock
  /// that was lost meanwhile, or a server that doesn't answer, is not an exception here, because
  /// std::lock_guard calls this function in its destructor: ask last_release(). While the lock is held,
  /// current() tells of its loss.
  void unlock();

  /// How the last unlock() of this object ended; empty before the first one.
  [[nodiscard]] std::optional<release_result> last_release() const noexcept;

  /// The lease behind the lock that this thread has locked: its token(), lost(), valid() and remaining(). If
  /// this thread hasn't locked it, an empty view. No request.
  [[nodiscard]] lease_view current() const;

  // Lease style.

  /// Waits for the lock. Throws as lock(), and errc::cancelled if `stop` is triggered.
  [[nodiscard]] lease acquire(std::stop_token stop = {});

  /// Takes the lock if it is free; empty if it is busy.
  [[nodiscard]] std::optional<lease> try_acquire();

  /// Waits at most `wait`, as try_lock_for(); empty if the lock stayed busy. Zero or less tries once.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(std::chrono::duration<Rep, Period> const& wait,
                                                     std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), std::move(stop));
  }

  /// The same until a point in time, of any clock.
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(std::chrono::time_point<Clock, Duration> const& time,
                                                       std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), std::move(stop));
  }

  // Asynchronous: these functions return at once. `done` is called on the client's thread, or on a thread
  // that is inside a call of the client. It may be a function that can only be moved. An empty one throws
  // std::errc::invalid_argument.
  //
  // A lease that goes out of scope waits for the server's answer on that thread, in `done` as well as on the
  // thread of an event loop. Give it back with async_release() there, or set lock_options::on_destroy to
  // release::async.
  //
  // The lock object may be destroyed while an acquisition is pending. The acquisition goes on, and `done` is
  // called as if the object were there, so what `done` refers to must last until then. Trigger `stop` to give
  // up. When the client ends, it calls `done` with errc::closed.

  /// Waits for the lock without a limit.
  void async_acquire(acquire_handler done, std::stop_token stop = {});

  /// Takes the lock if it is free.
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), std::move(stop));
  }

  /// Waits at most `wait`. Zero or less tries once.
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), std::move(stop));
  }

  /// Who held the lock when an acquisition of this object last found it busy, for how long, and how many
  /// callers were ahead. Empty if none found it busy. An acquisition that still waits counts, too. Meant
  /// for messages: it was true then, and says nothing about now. Costs one request for the holder's record,
  /// and none if the holder is this process or its record is known; but a known one is read again, while the
  /// server can be reached, for a trace that wasn't there: after 0.5 s if that client says traces, else after
  /// 20 s. A record that is missing or can't be read is shown as unknown; it is not an error.
  [[nodiscard]] std::optional<busy_info> last_busy();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

 protected:
  /// For the classes that derive from it.
  exclusive_lock(client& redis, std::string name, lock_options const& options,
                 engine::exclusive_kind const& kind);
  ~exclusive_lock();  ///< Unlocks if a thread left it locked.

  [[nodiscard]] lease reenter(lease const& held);  ///< See recursive_mutex.

 private:
  struct HOLDFAST_LOCAL impl;

  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait);
  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
