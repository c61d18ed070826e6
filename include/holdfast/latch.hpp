/// The count-down latch: waits until a number of things have happened.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast {

/// Options of a latch.
struct latch_options {
  /// `automatic`: as client_options::wake says. The message is a broadcast, so `inbox` means the latch's
  /// channel. With `poll` there are no messages.
  holdfast::wake wake = holdfast::wake::automatic;
  /// With wake::poll: as lock_options::poll_floor and poll_cap.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};

  /// How the latch looks in Redis; `automatic`: as client_options::wire says.
  holdfast::wire wire = holdfast::wire::automatic;

  /// How long a latch that this object sets may take to open, by the server's clock, up to a year; 0 is no
  /// limit. Then all that wait, and all that come for a week, get errc::expired, and nobody can count it down
  /// any more. Not on Redisson's wire.
  milliseconds expires_after{0};
};

/// A latch on a name, like a std::latch whose count lives in the server.
///
///     holdfast::latch all_there{redis, "deploy:7:ready"};
///     all_there.try_set_count(5);                    // the first caller sets it
///     all_there.count_down("shard-3");               // each of the five
///     all_there.wait();                              // all who have to know
///
/// *Guarantees.* A waiter goes on when the count is 0, or when there is no count: normally within a round
/// trip after the message that says so, and within client_options::recheck if every message is lost or the
/// key is deleted by hand. A count-down that is sent again after a broken connection counts once. A named
/// participant counts once until the latch is open, from whichever process and however often it says so.
///
/// *Open and closed.* A latch without a count is open. Unlike a std::latch it can be set again once it is
/// open. A caller that waits at that moment may miss that it was open. A server that loses its data loses
/// its latches, so they are open.
///
/// *On the wire.* A string key of the name, and a set of those that have counted (docs/protocol.md);
/// `holdfast inspect` shows who has. On Redisson's wire Redisson's RCountDownLatch: a string key of the name
/// with the count, and nothing that says who has counted. See docs/redisson.md. A name is one kind of object:
/// a latch and a mutex of one name find each other's key, and fail with errc::wrong_type.
///
/// *Threads.* Many threads may use one object.
///
/// *Errors.*
/// - errc::wrong_type: the key is something else; what() says what.
/// - errc::expired: the time of the latch is over (latch_options::expires_after). From waits, count(),
///   try_wait() and count_down().
/// - errc::refused and the like: the server said no. Nothing was changed.
/// - errc::unreachable: the server can't be asked; or it refused a request that was sent again because the
///   connection broke. what() says so. Then it is unknown whether a change was made: look before you try
///   again.
///
/// If the server isn't ready (LOADING, BUSY…), the request is sent again, for reply_timeout + connect_timeout
/// (client_options) behind the first refusal; each copy takes connect_timeout at most. While the slot of a
/// cluster moves, it waits. With masters that vote there are no latches: the constructor throws
/// std::errc::invalid_argument.
class HOLDFAST_EXPORT latch {
 public:
  /// Called once: with true if the latch is open, or with the error.
  using wait_handler = move_only_function<void(bool, std::exception_ptr)>;
  using count_handler = move_only_function<void(std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or whose braces don't fit (see lock_options::wire).
  latch(client& redis, std::string name, latch_options options = {});
  latch(latch const&) = delete;
  latch& operator=(latch const&) = delete;
  ~latch();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

  /// Closes the latch with this count (0 or more; 0 leaves it open); returns `false` if it has a count
  /// already. A latch whose time is over is set anew. One request.
  bool try_set_count(std::int64_t count);

  /// Counts down by `n` (at least 1). The count stops at 0. One request.
  void count_down(std::int64_t n = 1);

  /// Counts down by 1 for a participant (1 byte to 64 KiB), unless it has done so since the latch was set.
  /// Returns `false` then, and if the latch is open: nothing was changed. So a participant that doesn't know,
  /// perhaps since its process was started again, may say it once more. One request. On Redisson's wire
  /// std::errc::invalid_argument.
  bool count_down(std::string_view participant);

  /// The same without waiting: `done` is called once, with the error if there was one; for a participant with
  /// what count_down() returns, too. The latch may be destroyed meanwhile.
  void async_count_down(count_handler done, std::int64_t n = 1);
  void async_count_down(std::string_view participant, wait_handler done);

  /// The count; 0: it is open. One request.
  [[nodiscard]] std::int64_t count();

  /// Whether the latch is open. One request.
  [[nodiscard]] bool try_wait();

  /// Waits until the latch is open. Throws errc::expired if its time is over, and errc::cancelled if `stop`
  /// is triggered.
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
  struct HOLDFAST_LOCAL impl;

  [[nodiscard]] bool wait_within(std::chrono::nanoseconds time, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
