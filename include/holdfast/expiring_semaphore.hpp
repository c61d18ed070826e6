/// The semaphore whose permits are leases.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast {

/// A semaphore on a name. A permit comes back by itself when its holder dies.
///
///     holdfast::expiring_semaphore s{redis, "license", 5};
///     auto permit = s.acquire();                     // a lease: renewed, told of its loss
///     … permit.owner() …                             // the permit's id, for release(id) elsewhere
///
/// *Guarantees.* Never are more permits valid at the same time than the semaphore was given. Each permit is a
/// lease, with a deadline and a loss signal; the watchdog renews it, or its time is fixed
/// (lock_options::watchdog, ttl). The permit of a holder that died comes back at the end of its ttl: a waiter
/// looks again when the first permit that is out runs out, and at least every client_options::recheck.
/// Callers of one process are served first come, first served. Between processes there is no order. A permit
/// is given back once, however often that is asked for.
///
/// *Size.* An object knows the number of permits if its constructor, try_set_permits() or set_permits() was
/// given it. It sends the number with its requests for a permit, also while it waits. A semaphore that has
/// never been given permits takes it, and so does one whose number the server has lost (a restart without
/// data, an eviction); permits that are out count. A semaphore that has a number keeps it. Without a number
/// nobody gets a permit, and acquire() waits.
///
/// *On the wire.* Redisson's RPermitExpirableSemaphore, from version 3.17 of it on: a string key of the name
/// with the number of permits left, and a sorted set of the ids of those that are out. See docs/redisson.md.
/// An id is 32 hexadecimal digits here, and 16 bytes there.
///
/// *Options.* Those of a lease, and `wake`; `starvation_limit`, `handoff_…`, `wire` and `fenced` have no
/// effect.
///
/// *Errors.* errc::wrong_type if the keys are something else, or if ids of a Redisson before 3.17 are among
/// the permits; errc::refused and errc::unreachable as for semaphore.
class expiring_semaphore {
 public:
  using acquire_handler = exclusive_lock::acquire_handler;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or whose braces don't fit (see lock_options::wire).
  expiring_semaphore(client& redis, std::string name, lock_options options = {});

  /// The same, with a size for a semaphore that has none yet: `permits`, from 0 (no size) to 2^31 - 1.
  expiring_semaphore(client& redis, std::string name, std::int64_t permits, lock_options options = {});
  expiring_semaphore(expiring_semaphore const&) = delete;
  expiring_semaphore& operator=(expiring_semaphore const&) = delete;
  ~expiring_semaphore();

  [[nodiscard]] std::string const& name() const noexcept;

  /// Gives it `permits` (0 or more); returns `false` if it has been given some before. One request. In a
  /// cluster the call waits while the slot moves from one node to another.
  bool try_set_permits(std::int64_t permits);

  /// Sets the number of all permits, those that are out included. available() is negative if more are out.
  /// One request.
  void set_permits(std::int64_t permits);

  /// Adds permits, or with a negative number takes them away. One request.
  void add_permits(std::int64_t permits);

  /// Waits for a permit. Throws errc::cancelled if `stop` is triggered. One request if a permit is there.
  [[nodiscard]] lease acquire(std::stop_token stop = {});

  /// Takes a permit if there is one.
  [[nodiscard]] std::optional<lease> try_acquire();

  /// Waits at most `wait`. Zero or less tries once.
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

  // Asynchronous: see exclusive_lock.

  void async_acquire(acquire_handler done, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), std::move(stop));
  }

  /// Gives back the permit with this id (lease::owner()), whichever process has it. Returns `lost` if it has
  /// expired or was released before. Throws std::errc::invalid_argument unless the id is 32 hexadecimal
  /// digits. One request.
  release_result release(std::string_view id);

  /// How many permits are left; expired ones count as left. Negative: so many more are out than there should
  /// be. One request.
  [[nodiscard]] std::int64_t available();

  /// How many permits there are, those that are out included. One request.
  [[nodiscard]] std::int64_t permits();

  /// How many permits are out. One request.
  [[nodiscard]] std::int64_t acquired();

 private:
  struct impl;

  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
