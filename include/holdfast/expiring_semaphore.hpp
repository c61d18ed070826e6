/// The semaphore whose permits are leases.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>
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
///     auto three = s.acquire(3);                     // one lease of three permits
///     … permit.owner() …                             // the id, for release(id) elsewhere
///
/// *Guarantees.* Never are more permits valid at the same time than the semaphore was given. Permits are a
/// lease, with a deadline and a loss signal; the watchdog renews it, or its time is fixed
/// (lock_options::watchdog, ttl). The permits of a holder that died come back at the end of its ttl: a waiter
/// looks again when the first permit that is out runs out, and at least every client_options::recheck.
/// Callers of one process are served first come, first served. Permits are given back once, however often
/// that is asked for.
///
/// *On the plain wire* callers of all processes are served first come, first served: a caller that wants many
/// isn't overtaken by one that wants few. One that wants more than there are altogether waits until there are
/// more, and holds up only its own client. A release gives the permits to the first waiters, one message to
/// each; a waiter whose process is gone holds nobody up. Each lease has a fencing token, greater than that of
/// every lease before it. A frozen waiter that was given permits loses them after 2 s. See docs/protocol.md.
///
/// *On Redisson's wire* it is Redisson's RPermitExpirableSemaphore, from version 3.17 of it on. A lease is
/// one permit and has no token, all waiters are told of a release, and there is no order between processes.
/// An id is 32 hexadecimal digits here, and 16 bytes there. See docs/redisson.md.
///
/// *Size.* An object knows the number of permits if its constructor, try_set_permits() or set_permits() was
/// given it. It sends the number with its requests for permits, also while it waits. A semaphore that has
/// no number takes it, and so does one whose number the server has lost (a restart without data, an
/// eviction); permits that are out count. A semaphore that has a number keeps it. Without a number nobody
/// gets a permit, and acquire() waits. On the plain wire a number that came with a request is kept while
/// permits are out, and one that was set for good; on Redisson's both are kept for good.
///
/// *Options.* Those of a lease, `wake` and `wire`; `starvation_limit`, `handoff_…` and `fenced` have no
/// effect.
///
/// *Errors.* errc::wrong_type if the keys are something else (a mutex of that name), or on Redisson's wire if
/// ids of a Redisson before 3.17 are among the permits; errc::refused and errc::unreachable as for semaphore;
/// std::errc::invalid_argument for a number of permits below 1 or above 2^31 - 1, and on Redisson's wire for
/// more than one permit to a lease.
class HOLDFAST_EXPORT expiring_semaphore {
 public:
  /// Called once: as that of exclusive_lock.
  using acquire_handler = exclusive_lock::acquire_handler;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, and for a name that is
  /// empty, longer than 64 KiB, or whose braces don't fit (see lock_options::wire).
  expiring_semaphore(client& redis, std::string name, lock_options options = {});

  /// The same, with a size for a semaphore that has none yet: `permits`, from 0 (no size) to 2^31 - 1.
  expiring_semaphore(client& redis, std::string name, std::int64_t permits, lock_options options = {});
  expiring_semaphore(expiring_semaphore const&) = delete;
  expiring_semaphore& operator=(expiring_semaphore const&) = delete;
  ~expiring_semaphore();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

  /// Gives it `permits` (0 or more); returns `false` if it has been given some before. One request. In a
  /// cluster the call waits while the slot moves from one node to another.
  bool try_set_permits(std::int64_t permits);

  /// Sets the number of all permits, those that are out included. available() is negative if more are out:
  /// they become fewer as they come back. One request.
  void set_permits(std::int64_t permits);

  /// Adds permits, or with a negative number takes them away. One request.
  void add_permits(std::int64_t permits);

  /// Waits for permits: one, or several as one lease. Throws errc::cancelled if `stop` is triggered. One
  /// request if they are there.
  [[nodiscard]] lease acquire(std::stop_token stop = {}) { return acquire(1, std::move(stop)); }
  [[nodiscard]] lease acquire(std::int64_t permits, std::stop_token stop = {});

  /// Takes permits if they are there and nobody waits for some.
  [[nodiscard]] std::optional<lease> try_acquire(std::int64_t permits = 1);

  /// Waits at most `wait`. Zero or less tries once.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(std::chrono::duration<Rep, Period> const& wait,
                                                     std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), 1, std::move(stop));
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_for(std::chrono::duration<Rep, Period> const& wait,
                                                     std::int64_t permits, std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), permits, std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(std::chrono::time_point<Clock, Duration> const& time,
                                                       std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), 1, std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_until(std::chrono::time_point<Clock, Duration> const& time,
                                                       std::int64_t permits, std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), permits, std::move(stop));
  }

  /// The same without waiting: see exclusive_lock.
  void async_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_acquire(std::move(done), 1, std::move(stop));
  }
  void async_acquire(acquire_handler done, std::int64_t permits, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), 1, std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), 1, std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::int64_t permits, std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), permits, std::move(stop));
  }

  /// Gives back the permits of the lease with this id (lease::owner()), whichever process has it. Returns
  /// `lost` if it was released before, or expired and somebody needed its permits since; `released` also when
  /// the connection broke and it can't be told. Who has the lease isn't told before its next renewal, or its
  /// deadline without a watchdog, and may be at work beside the next holder until then: for permits whose
  /// holder is known to be done. Throws std::errc::invalid_argument unless it is such an id. One request.
  release_result release(std::string_view id);

  /// How many permits are left; expired ones count as left. Negative: so many more are out than there should
  /// be. One request.
  [[nodiscard]] std::int64_t available();

  /// How many permits there are, those that are out included. One request.
  [[nodiscard]] std::int64_t permits();

  /// How many permits are out. One request.
  [[nodiscard]] std::int64_t acquired();

  /// Who was in the way when an acquisition of this object last found too few permits, how many were out, and
  /// how many callers were ahead: see exclusive_lock::last_busy(). The holder is the one that has to give its
  /// permits back first, unless it renews them. Redisson's wire doesn't tell.
  [[nodiscard]] std::optional<busy_info> last_busy();

 private:
  struct HOLDFAST_LOCAL impl;
  struct HOLDFAST_LOCAL on_plain;
  struct HOLDFAST_LOCAL on_redisson;

  [[nodiscard]] int checked(std::int64_t permits) const;
  [[nodiscard]] std::optional<lease> try_acquire_within(std::chrono::nanoseconds wait, std::int64_t permits,
                                                        std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::int64_t permits,
                                std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
