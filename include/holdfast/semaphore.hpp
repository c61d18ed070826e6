/// The counting semaphore: a number of permits in the server.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast {

/// How a semaphore or latch is waited for.
struct waiting_options {
  /// `automatic`: as client_options::wake says. Here every message is a broadcast, so `inbox` means the
  /// object's channel, and `poll` none.
  holdfast::wake wake = holdfast::wake::automatic;
  /// With wake::poll: as lock_options::poll_floor and poll_cap.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};
};

/// A counting semaphore on a name, like a std::counting_semaphore whose count lives in the server.
///
///     holdfast::semaphore s{redis, "uploads", 5};    // five permits, for all who name it
///     s.acquire(); …; s.release();
///
/// *Permits have no owner*: nobody gets back what a process held that died. Where that matters use an
/// expiring_semaphore, whose permits are leases.
///
/// *Guarantees.* No more permits are out than were put in. Callers of one process are served first come,
/// first served (a caller that wants many isn't overtaken by one that wants few); between processes there is
/// no order. No wake-up is lost for longer than client_options::recheck. A request that is sent again after a
/// broken connection counts once, and permits that were taken for a caller that has gone are given back.
///
/// *Size.* An object that is made with a number of permits gives them to a semaphore that has never been
/// given any, in the request that acquires the first one; the number of a semaphore that has one stays as it
/// is. It does so again when the server has lost the number (a restart without data, an eviction): permits
/// that were out then are added to it when they come back. An object that is made without a number gives
/// none: until somebody does (try_set_permits, release), the semaphore is busy, and acquire() waits. See
/// exists().
///
/// *On the wire.* Redisson's RSemaphore: a string key of the name with the number of permits that are left.
/// See docs/redisson.md. While a request may be sent again, a key `{name}:holdfast_done:…` beside it says
/// that it was carried out; it runs out by itself.
///
/// *Threads.* One object may be used by many threads; permits belong to no thread.
///
/// *Errors.* errc::wrong_type when the key isn't a number. What the server isn't ready for (LOADING, BUSY…)
/// is sent again, for at most reply_timeout + connect_timeout (client_options). errc::refused and the like
/// when the server says no: nothing was changed. errc::unreachable when it can't be asked, or says no to a
/// request that is sent again because the connection broke: what() says so, and whether a change was made is
/// open. Look before you try again. A number of permits below 1 throws std::errc::invalid_argument (below 0
/// where it says so).
class semaphore {
 public:
  using acquire_handler = move_only_function<void(bool, std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB or one whose
  /// braces don't fit (see lock_options::wire), or an option out of range.
  semaphore(client& redis, std::string name, waiting_options options = {});

  /// The same, with the size of a semaphore that has none yet: `permits`, from 0 (as without) to 2^31 - 1.
  semaphore(client& redis, std::string name, std::int64_t permits, waiting_options options = {});
  semaphore(semaphore const&) = delete;
  semaphore& operator=(semaphore const&) = delete;
  ~semaphore();

  [[nodiscard]] std::string const& name() const noexcept;

  /// Gives it `permits` (0 or more) unless it has been given some before: `false` then. One request. In a
  /// cluster it waits for as long as the slot is on its way from one node to another.
  bool try_set_permits(std::int64_t permits);

  /// Waits for so many permits and takes them, all at once. One request when they are there. Throws
  /// errc::cancelled when `stop` is triggered; nothing is taken then.
  void acquire(std::int64_t permits = 1, std::stop_token stop = {});

  /// Takes them if they are there.
  [[nodiscard]] bool try_acquire(std::int64_t permits = 1);

  /// Waits at most so long. `false`: they didn't become free. Zero or less tries once.
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> const& wait, std::int64_t permits = 1,
                                     std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), permits, std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> const& time,
                                       std::int64_t permits = 1, std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), permits, std::move(stop));
  }

  // The same, asynchronous: see exclusive_lock.

  void async_acquire(acquire_handler done, std::int64_t permits = 1, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::int64_t permits = 1, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), permits, std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::int64_t permits = 1, std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), permits, std::move(stop));
  }

  /// Gives permits back, or adds new ones: nobody checks that they were taken. One request, and one message.
  void release(std::int64_t permits = 1);

  /// Adds permits, or with a negative number takes them away, also those that are out: available() may be
  /// negative until they come back. One request.
  void add_permits(std::int64_t permits);

  /// Takes all that are left, and says how many. One request.
  std::int64_t drain();

  /// How many are left; negative: so many are missing. One request.
  [[nodiscard]] std::int64_t available();

  /// It has been given permits. One request.
  [[nodiscard]] bool exists();

 private:
  struct impl;

  [[nodiscard]] bool try_acquire_within(std::chrono::nanoseconds wait, std::int64_t permits,
                                        std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::int64_t permits,
                                std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
