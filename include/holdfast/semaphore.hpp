/// The counting semaphore: a number of permits in the server.
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

namespace holdfast::async::detail {
struct taking_permits;
}

namespace holdfast {

/// Options of a semaphore.
struct waiting_options {
  /// `automatic`: as client_options::wake says. On Redisson's wire the message is a broadcast, so `inbox`
  /// means the semaphore's channel. With `poll` there are no messages.
  holdfast::wake wake = holdfast::wake::automatic;
  /// With wake::poll: as lock_options::poll_floor and poll_cap.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};

  /// How the semaphore looks in Redis; `automatic`: as client_options::wire says.
  holdfast::wire wire = holdfast::wire::automatic;
};

/// A counting semaphore on a name, like a std::counting_semaphore whose count lives in the server.
///
///     holdfast::semaphore s{redis, "uploads", 5};    // five permits, for all who name it
///     s.acquire(); …; s.release();
///
/// *Permits have no lease.* Anybody may give them back, and nobody has to renew them; so those of a process
/// that died don't come back. client::shutdown() doesn't wait for permits either, and once it has returned
/// they can't be given back: release() them before. If that matters, use an expiring_semaphore.
///
/// *Guarantees.* No more permits are out than were put in. No wake-up is lost for longer than
/// client_options::recheck. A request that is sent again after a broken connection counts once. Permits that
/// were taken for a caller that has gone are given back. Callers of one process are served first come, first
/// served: a caller that wants many isn't overtaken by one that wants few.
///
/// *On the plain wire* that holds for the callers of all processes, as with an expiring_semaphore: a release
/// gives the permits to the first waiters, one message to each. Who took them can be seen (`holdfast
/// inspect`), also a day after its process died, and `holdfast release --force` gives them back for it. A
/// semaphore and an expiring_semaphore of one name are one: what is taken by either is missing to the other.
///
/// *On Redisson's wire* it is Redisson's RSemaphore: a string key of the name with the number of permits that
/// are left. There is no order between processes. See docs/redisson.md.
///
/// *Size.* An object may be made with a number of permits. It sends the number with the request that acquires
/// its first permit. A semaphore that has never been given permits takes it; one that has a number keeps it:
/// on the plain wire while permits are out, and for good if it was set.
/// The same happens if the server has lost the number (a restart without data, an eviction): permits that
/// were out at that moment are added when they come back. An object that is made without a number gives none.
/// Until somebody gives permits (try_set_permits, release), the semaphore is busy, and acquire() waits. See
/// exists().
///
/// *On either wire* a key `{name}:holdfast_done:…` says that a request was carried out, while it may be sent
/// again. That key runs out by itself.
///
/// *Threads.* Many threads may use one object. Permits belong to no thread.
///
/// *Errors.*
/// - errc::wrong_type: the key is something else; what() says what. From release() on the plain wire also if
///   only permits with leases are out.
/// - errc::refused and the like: the server said no. Nothing was changed.
/// - errc::unreachable: the server can't be asked; or it refused a request that was sent again because the
///   connection broke. what() says so. Then it is unknown whether a change was made: look before you try
///   again.
/// - std::errc::invalid_argument: a number of permits below 1 (below 0, where the function says so).
///
/// If the server isn't ready (LOADING, BUSY…), the request is sent again, for reply_timeout + connect_timeout
/// (client_options) behind the first refusal; each copy takes connect_timeout at most. While the slot of a
/// cluster moves, it waits.
class HOLDFAST_EXPORT semaphore {
 public:
  /// Called once: with whether it got the permits, or with the error.
  using acquire_handler = move_only_function<void(bool, std::exception_ptr)>;
  using release_handler = move_only_function<void(std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or whose braces don't fit (see lock_options::wire).
  semaphore(client& redis, std::string name, waiting_options options = {});

  /// The same, with a size for a semaphore that has none yet: `permits`, from 0 (no size) to 2^31 - 1.
  semaphore(client& redis, std::string name, std::int64_t permits, waiting_options options = {});
  semaphore(semaphore const&) = delete;
  semaphore& operator=(semaphore const&) = delete;
  ~semaphore();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

  /// Gives it `permits` (0 or more); returns `false` if it has been given some before. One request. In a
  /// cluster the call waits while the slot moves from one node to another.
  bool try_set_permits(std::int64_t permits);

  /// Waits for so many permits, and takes them all at once. One request if they are there. Throws
  /// errc::cancelled if `stop` is triggered; nothing is taken then.
  void acquire(std::int64_t permits = 1, std::stop_token stop = {});

  /// Takes the permits if they are there.
  [[nodiscard]] bool try_acquire(std::int64_t permits = 1);

  /// Waits at most `wait`; returns `false` if the permits didn't become free. Zero or less tries once.
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

  /// The same without waiting: see exclusive_lock.
  void async_acquire(acquire_handler done, std::int64_t permits = 1, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::int64_t permits = 1, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), permits, std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::int64_t permits = 1, std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), permits, std::move(stop));
  }

  /// Gives permits back, those of this process first, or adds new ones: nobody checks that they were taken.
  /// One request.
  void release(std::int64_t permits = 1);

  /// The same without waiting. `done` is called once, with the error if there was one; not before the server
  /// has answered. The semaphore may be destroyed meanwhile.
  void async_release(release_handler done, std::int64_t permits = 1);

  /// Adds permits; a negative number takes them away, also those that are out. available() may be negative
  /// until they come back. On the plain wire there is none left when all of them are taken away, and never
  /// fewer than none. One request.
  void add_permits(std::int64_t permits);

  /// Takes all permits that are left, and returns how many. On the plain wire those that wait for some are
  /// let in first. One request.
  std::int64_t drain();

  /// How many permits are left. Negative: so many are missing. On the plain wire the size of this object
  /// counts where there are none yet. One request.
  [[nodiscard]] std::int64_t available();

  /// Whether it has been given permits. One request.
  [[nodiscard]] bool exists();

 private:
  struct HOLDFAST_LOCAL impl;
  struct HOLDFAST_LOCAL on_plain;
  struct HOLDFAST_LOCAL on_redisson;

  [[nodiscard]] bool try_acquire_within(std::chrono::nanoseconds wait, std::int64_t permits,
                                        std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::int64_t permits,
                                std::stop_token stop);

  /// Those that came for an operation nobody wants any more.
  friend struct async::detail::taking_permits;
  void give_back_unwanted(std::int64_t permits) noexcept;

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
