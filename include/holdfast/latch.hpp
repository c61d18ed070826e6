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
///     all_there.try_set_count(5);                    // once, by whoever comes first
///     all_there.count_down();                        // each of the five
///     all_there.wait();                              // whoever has to know
///
/// *Guarantees.* Whoever waits goes on when the count is 0, or there is none: normally within a round trip,
/// within client_options::recheck if every message is lost or the key is deleted by hand. A count-down that
/// is sent again after a broken connection counts once.
///
/// *Open and closed.* A latch without a count is open. Unlike std::latch it can be set again once it is open;
/// whoever waits at that moment may miss that it was open.
///
/// *On the wire.* Redisson's RCountDownLatch: a string key of the name with the count. See docs/redisson.md.
///
/// *Threads.* One object may be used by many threads.
///
/// *Errors.* errc::wrong_type when the key isn't a number. What the server isn't ready for (LOADING, BUSY…)
/// is sent again, for at most reply_timeout + connect_timeout (client_options). errc::refused and the like
/// when the server says no: nothing was changed. errc::unreachable when it can't be asked, or says no to a
/// request that is sent again because the connection broke: what() says so, and whether a change was made is
/// open. Look before you try again.
class latch {
 public:
  using wait_handler = move_only_function<void(bool, std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB or one whose
  /// braces don't fit (see lock_options::wire), or an option out of range.
  latch(client& redis, std::string name, waiting_options options = {});
  latch(latch const&) = delete;
  latch& operator=(latch const&) = delete;
  ~latch();

  [[nodiscard]] std::string const& name() const noexcept;

  /// Closes it with this count (0 or more) unless it has one: `false` then. One request.
  bool try_set_count(std::int64_t count);

  /// Counts down by `n` (at least 1), to 0 at the most: below zero nothing happens. One request.
  void count_down(std::int64_t n = 1);

  /// The count; 0: it is open. One request.
  [[nodiscard]] std::int64_t count();

  /// It is open. One request.
  [[nodiscard]] bool try_wait();

  /// Waits until it is open. Throws errc::cancelled when `stop` is triggered.
  void wait(std::stop_token stop = {});

  /// Waits at most so long: `false` when it was still closed. Zero or less looks once.
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

  /// Calls `done` once: with true when it is open, with what went wrong otherwise. From the client's thread
  /// or one that is inside a call of the client.
  void async_wait(wait_handler done, std::stop_token stop = {});

  /// Opens it whatever its count, and takes the count away: `false` when it had none. Tells those who wait
  /// here and in Java. One request.
  bool open();

 private:
  struct impl;

  [[nodiscard]] bool wait_within(std::chrono::nanoseconds time, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
