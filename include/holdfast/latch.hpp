/// The count-down latch: waits until a number of things have happened.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast {

/// A latch on a name, like a std::latch whose count lives in the server.
///
///     holdfast::latch all_there{redis, "deploy:7:ready"};
///     all_there.try_set_count(5);                    // the first caller sets it
///     all_there.count_down();                        // each of the five
///     all_there.wait();                              // all who have to know
///
/// *Guarantees.* A waiter goes on when the count is 0, or when there is no count: normally within a round
/// trip, and within client_options::recheck if every message is lost or the key is deleted by hand. A
/// count-down that is sent again after a broken connection counts once.
///
/// *Open and closed.* A latch without a count is open. Unlike a std::latch it can be set again once it is
/// open. A caller that waits at that moment may miss that it was open.
///
/// *On the wire.* Redisson's RCountDownLatch: a string key of the name with the count. See docs/redisson.md.
///
/// *Threads.* Many threads may use one object.
///
/// *Errors.*
/// - errc::wrong_type: the key isn't a number.
/// - errc::refused and the like: the server said no. Nothing was changed.
/// - errc::unreachable: the server can't be asked; or it refused a request that was sent again because the
///   connection broke. what() says so. Then it is unknown whether a change was made: look before you try
///   again.
///
/// If the server isn't ready (LOADING, BUSY…), the request is sent again, for at most reply_timeout +
/// connect_timeout (client_options).
class latch {
 public:
  using wait_handler = move_only_function<void(bool, std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or whose braces don't fit (see lock_options::wire).
  latch(client& redis, std::string name, waiting_options options = {});
  latch(latch const&) = delete;
  latch& operator=(latch const&) = delete;
  ~latch();

  [[nodiscard]] std::string const& name() const noexcept;

  /// Closes the latch with this count (0 or more); returns `false` if it has a count already. One request.
  bool try_set_count(std::int64_t count);

  /// Counts down by `n` (at least 1). The count stops at 0. One request.
  void count_down(std::int64_t n = 1);

  /// The count; 0: it is open. One request.
  [[nodiscard]] std::int64_t count();

  /// Whether the latch is open. One request.
  [[nodiscard]] bool try_wait();

  /// Waits until the latch is open. Throws errc::cancelled if `stop` is triggered.
  void wait(std::stop_token stop = {});

  /// Waits at most `time`; returns `false` if the latch was still closed. Zero or less looks once.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> const& time, std::stop_token stop = {}) {
    return wait_within(to_wait(time), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> const& time,
                                std::stop_token stop = {}) {
    return wait_within(to_wait(time), std::move(stop));
  }

  /// Counts down by `n` and waits.
  void arrive_and_wait(std::int64_t n = 1, std::stop_token stop = {});

  /// Calls `done` once: with true if the latch is open, or with the error. `done` runs on the client's
  /// thread, or on a thread that is inside a call of the client.
  void async_wait(wait_handler done, std::stop_token stop = {});

  /// Opens the latch whatever its count is, and removes the count; returns `false` if it had none. Tells all
  /// waiters, here and in Java. One request.
  bool open();

 private:
  struct impl;

  [[nodiscard]] bool wait_within(std::chrono::nanoseconds time, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
