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

/// A semaphore on a name whose permits come back by themselves when their holder dies.
///
///     holdfast::expiring_semaphore s{redis, "license", 5};
///     auto permit = s.acquire();                     // a lease: renewed, told of its loss
///     … permit.owner() …                             // the permit's id, for release(id) elsewhere
///
/// *Guarantees.* No more permits are valid at the same time than it was given. Each permit is a lease:
/// renewed by the watchdog or fixed (lock_options::watchdog, ttl), with deadline and loss. A permit whose
/// holder died comes back at its end: a waiter looks when the first that are out run out, and at least every
/// client_options::recheck. Callers of one process are served first come, first served; between processes
/// there is no order. A permit is given back once, however often that is asked for.
///
/// *Size.* An object that was told the number of permits (by its constructor, try_set_permits or set_permits)
/// gives it, with its requests for a permit, to a semaphore that has never been given any, or whose number
/// the server has lost (a restart without data, an eviction), also while it waits; those that are out count.
/// The number of a semaphore that has one stays as it is. Without a number nobody gets a permit, and
/// acquire() waits.
///
/// *On the wire.* Redisson's RPermitExpirableSemaphore, since its version 3.17: a string key of the name with
/// the number of permits left, and a sorted set of the ids of those that are out. See docs/redisson.md. Ids
/// are 32 hexadecimal digits here and 16 bytes there.
///
/// *Options.* Those of a lease, and `wake`; `starvation_limit`, `handoff_…`, `wire` and `fenced` have no
/// effect.
///
/// *Errors.* errc::wrong_type when the keys are something else, or ids of a Redisson before 3.17 are among
/// the permits; errc::refused and errc::unreachable as semaphore.
class expiring_semaphore {
 public:
  using acquire_handler = exclusive_lock::acquire_handler;

  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB or one whose
  /// braces don't fit (see lock_options::wire), or an option out of range.
  expiring_semaphore(client& redis, std::string name, lock_options options = {});

  /// The same, with the size of a semaphore that has none yet: `permits`, from 0 (as without) to 2^31 - 1.
  expiring_semaphore(client& redis, std::string name, std::int64_t permits, lock_options options = {});
  expiring_semaphore(expiring_semaphore const&) = delete;
  expiring_semaphore& operator=(expiring_semaphore const&) = delete;
  ~expiring_semaphore();

  [[nodiscard]] std::string const& name() const noexcept;

  /// Gives it `permits` (0 or more) unless it has been given some before: `false` then. One request. In a
  /// cluster it waits for as long as the slot is on its way from one node to another.
  bool try_set_permits(std::int64_t permits);

  /// Makes it so many altogether, with those that are out: available() is negative when more are. One
  /// request.
  void set_permits(std::int64_t permits);

  /// Adds permits, or with a negative number takes them away. One request.
  void add_permits(std::int64_t permits);

  /// Waits for a permit. Throws errc::cancelled when `stop` is triggered. One request when there is one.
  [[nodiscard]] lease acquire(std::stop_token stop = {});

  /// Takes one if there is one.
  [[nodiscard]] std::optional<lease> try_acquire();

  /// Waits at most so long. Zero or less tries once.
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

  /// Gives back the permit with this id (lease::owner()), which some process has: `lost` when it has expired,
  /// or was released before. Throws std::errc::invalid_argument unless it is 32 hexadecimal digits. One
  /// request.
  release_result release(std::string_view id);

  /// How many are left; expired ones count. Negative: so many more are out than there should be. One request.
  [[nodiscard]] std::int64_t available();

  /// How many there are altogether. One request.
  [[nodiscard]] std::int64_t permits();

  /// How many are out. One request.
  [[nodiscard]] std::int64_t acquired();

 private:
  struct impl;

  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
