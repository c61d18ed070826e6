/// What all exclusive locks have in common: how they are taken, and given back.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
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
/// std::timed_mutex, as leases, and asynchronous. Only those make one.
///
/// *Threads.* One object may be used by many threads, like a std::mutex; several objects of one kind and name
/// are the same lock. `lock`/`unlock` belong to threads: the thread that locked unlocks, and a thread that
/// ends without doing so gives the lock back then (with a warning in the log). Leases belong to whoever has
/// the object.
class exclusive_lock {
 public:
  /// Called once: with the lease; with neither when the lock stayed busy for the time given; or with what
  /// went wrong.
  using acquire_handler = move_only_function<void(std::optional<lease>, std::exception_ptr)>;

  exclusive_lock(exclusive_lock const&) = delete;
  exclusive_lock& operator=(exclusive_lock const&) = delete;

  // Cpp17TimedLockable: for std::unique_lock, std::scoped_lock, std::lock.

  /// Waits for the lock and holds it for this thread. Waits through outages of the server once it has
  /// answered. Throws std::errc::resource_deadlock_would_occur when this thread holds it already (a
  /// recursive_mutex counts instead); errc::unreachable and the like when the server can't be asked;
  /// errc::wrong_type when the key holds another type.
  void lock();

  /// Takes the lock if it is free. Never waits for another holder. Throws as lock(), but answers `false` to
  /// the thread that holds it already.
  [[nodiscard]] bool try_lock();

  /// Takes the lock, waiting at most so long. `false` when it stayed busy. Zero or less tries once, as
  /// try_lock(), also when a deadline has just passed. A server that hasn't answered by then isn't taken for
  /// a busy lock: its answer is waited for, at most connect_timeout + reply_timeout longer (client_options;
  /// with `replicas` or `fsynced` another reply_timeout), also while it loads its data; then
  /// errc::unreachable or what else is the matter.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_for(to_wait(time));
  }

  /// Gives the lock back. Throws std::errc::operation_not_permitted when this thread doesn't hold it. A lock
  /// that was lost meanwhile, or a server that doesn't answer, is no exception here, since std::lock_guard
  /// calls this in its destructor: ask last_release(). While the lock is held, current() tells of its loss.
  void unlock();

  /// How the last unlock() of this object ended; empty before the first one.
  [[nodiscard]] std::optional<release_result> last_release() const noexcept;

  /// The lease behind the lock that this thread has locked: its token(), lost(), valid() and remaining().
  /// Without one, the view of no lease. No request.
  [[nodiscard]] lease_view current() const;

  // Lease style.

  /// Waits for the lock. Throws as lock(), and errc::cancelled when `stop` is triggered.
  [[nodiscard]] lease acquire(std::stop_token stop = {});

  /// Takes the lock if it is free; empty when it is busy.
  [[nodiscard]] std::optional<lease> try_acquire();

  /// Waits at most so long, as try_lock_for; empty when it stayed busy. Zero or less tries once.
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

  // Asynchronous: returns at once; `done` is called from the client's thread or one that is inside a call of
  // the client. It may be a function that can only be moved. An empty one throws std::errc::invalid_argument.
  //
  // A lease that goes out of scope in `done`, or anywhere on the thread of an event loop, waits for the
  // server's answer there: give it back with async_release(), or set lock_options::on_destroy to
  // release::async.
  //
  // The lock object may be destroyed while an acquisition is pending: that goes on, and `done` is called as
  // if the object were there. What `done` refers to has to last until then; to give up, trigger `stop`. The
  // client's end calls it with errc::closed.

  /// Waits for the lock without a limit.
  void async_acquire(acquire_handler done, std::stop_token stop = {});

  /// Takes the lock if it is free.
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), std::move(stop));
  }

  /// Waits at most so long. Zero or less tries once.
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), std::move(stop));
  }

  /// Who held the lock when an acquisition of this object last found it busy, for how long, and how many were
  /// ahead; empty when none did. For messages: it was true then, and tells nothing about now. One request for
  /// the holder's record, none when the holder is this process or its record is known; a record that is
  /// missing or can't be read is shown as unknown, and is no error.
  [[nodiscard]] std::optional<busy_info> last_busy();

  [[nodiscard]] std::string const& name() const noexcept;

 protected:
  exclusive_lock(client& redis, std::string name, lock_options const& options,
                 engine::exclusive_kind const& kind);
  ~exclusive_lock();  ///< Unlocks if a thread left it locked.

  [[nodiscard]] lease reenter(lease const& held);  ///< See recursive_mutex.

 private:
  struct impl;

  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait);
  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
