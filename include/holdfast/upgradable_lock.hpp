/// The upgrade lease of a read-write lock: a reader that may turn into the writer.
#pragma once

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast {

/// What a shared_mutex has besides readers and writers, after Boost.Thread's UpgradeLockable. Only
/// shared_mutex derives from it, and says what the upgrade lease is good for.
///
///     auto reading = prices.acquire_upgrade();                 // beside other readers
///     if (outdated(read())) prices.upgrade(reading);           // alone, and nobody wrote in between
///
///     boost::upgrade_lock reading{prices};                     // the same, of this thread
///     if (outdated(read())) {
///       boost::upgrade_to_unique_lock writing{reading};
///       …
///     }
///
/// The plain wire has it. Elsewhere these functions throw std::errc::not_supported.
class HOLDFAST_EXPORT upgradable_lock {
 public:
  /// Called once: as that of exclusive_lock.
  using acquire_handler = exclusive_lock::acquire_handler;
  /// Called once. `held` is the lease to write if `upgraded`; otherwise it is the upgrade lease as before,
  /// with the error if there is one, or lost.
  using upgrade_handler = move_only_function<void(lease held, bool upgraded, std::exception_ptr failure)>;

  upgradable_lock(upgradable_lock const&) = delete;
  upgradable_lock& operator=(upgradable_lock const&) = delete;

  /// Reads, beside other readers, as the only one that may turn into a writer. What waits for it while
  /// another caller has it, here or elsewhere, keeps no reader waiting; last_busy() names who has it. The
  /// functions do and throw the same as those to read.
  [[nodiscard]] lease acquire_upgrade(std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire_upgrade();
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_acquire_upgrade_for(std::chrono::duration<Rep, Period> const& wait,
                                                             std::stop_token stop = {}) {
    return try_acquire_upgrade_within(to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_acquire_upgrade_until(
      std::chrono::time_point<Clock, Duration> const& time, std::stop_token stop = {}) {
    return try_acquire_upgrade_within(to_wait(time), std::move(stop));
  }

  /// Waits until the other readers have gone; then `held`, the upgrade lease, is one to write, with a new
  /// token() and owner(). Nobody writes in between; readers that come meanwhile wait behind it. lost() and
  /// on_lost() of `held` tell of the loss of the result. One request if no others read.
  /// Whenever it throws or returns false, `held` is the upgrade lease as before, unless that was lost.
  /// Throws:
  /// - std::errc::invalid_argument at once if `held` is not the upgrade lease of this lock and client;
  /// - errc::lost if the upgrade lease was lost, before or during the wait;
  /// - errc::cancelled, errc::unreachable and the like as acquire().
  void upgrade(lease& held, std::stop_token stop = {});
  /// The same, but returns false when others still read after that time.
  [[nodiscard]] bool try_upgrade(lease& held);
  template <class Rep, class Period>
  [[nodiscard]] bool try_upgrade_for(lease& held, std::chrono::duration<Rep, Period> const& wait,
                                     std::stop_token stop = {}) {
    return upgrade_within(held, to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_upgrade_until(lease& held, std::chrono::time_point<Clock, Duration> const& time,
                                       std::stop_token stop = {}) {
    return upgrade_within(held, to_wait(time), std::move(stop));
  }

  /// The upgrade lease of the calling thread, in the shape of Boost.Thread, for boost::upgrade_lock. A thread
  /// that has it gets std::errc::resource_deadlock_would_occur from lock(), lock_shared() and lock_upgrade(),
  /// and lock_upgrade() says so to one that reads or writes. unlock_upgrade() does what unlock() does.
  void lock_upgrade();
  [[nodiscard]] bool try_lock_upgrade();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_upgrade_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_upgrade_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_upgrade_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_upgrade_within(to_wait(time));
  }
  void unlock_upgrade();

  /// The thread that has the upgrade lease becomes the writer: upgrade(). When this throws or returns false,
  /// the thread has the upgrade lease as before; also one that was lost is to be unlocked. Throws
  /// std::errc::operation_not_permitted if this thread doesn't have it.
  void unlock_upgrade_and_lock();
  [[nodiscard]] bool try_unlock_upgrade_and_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_unlock_upgrade_and_lock_for(std::chrono::duration<Rep, Period> const& wait) {
    return unlock_upgrade_and_lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_unlock_upgrade_and_lock_until(std::chrono::time_point<Clock, Duration> const& time) {
    return unlock_upgrade_and_lock_within(to_wait(time));
  }
  /// The thread that writes has the upgrade lease instead: downgrade_to_upgrade(). As
  /// shared_mutex::unlock_and_lock_shared().
  void unlock_and_lock_upgrade();
  /// The thread that has the upgrade lease only reads from now on, and another caller may have that:
  /// shared_mutex::downgrade(). Throws std::errc::operation_not_permitted if this thread doesn't have it;
  /// errc::lost if it was lost meanwhile (it is unlocked then).
  void unlock_upgrade_and_lock_shared();

  /// Turns a lease to write into the upgrade lease, as shared_mutex::downgrade() into one to read.
  [[nodiscard]] lease downgrade_to_upgrade(lease writing);

  /// The same without waiting: see exclusive_lock.
  void async_acquire_upgrade(acquire_handler done, std::stop_token stop = {});
  void async_try_acquire_upgrade(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_upgrade_within({}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_upgrade_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                                     std::stop_token stop = {}) {
    async_try_acquire_upgrade_within(to_wait(wait), std::move(done), std::move(stop));
  }

  /// upgrade() without waiting: `held`, the upgrade lease, is taken, and `done` gets it back in any case.
  /// When this throws, nothing was begun, and `held` is as before.
  void async_upgrade(lease&& held, upgrade_handler done, std::stop_token stop = {}) {
    async_upgrade_within(held, std::nullopt, std::move(done), std::move(stop));
  }
  void async_try_upgrade(lease&& held, upgrade_handler done, std::stop_token stop = {}) {
    async_upgrade_within(held, std::chrono::nanoseconds{0}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_upgrade_for(lease&& held, std::chrono::duration<Rep, Period> const& wait,
                             upgrade_handler done, std::stop_token stop = {}) {
    async_upgrade_within(held, to_wait(wait), std::move(done), std::move(stop));
  }

 protected:
  struct HOLDFAST_LOCAL impl;  ///< of the whole lock

  explicit upgradable_lock(std::unique_ptr<impl> of_the_lock) noexcept;
  ~upgradable_lock();

  std::unique_ptr<impl> impl_;  ///< both sides, for shared_mutex

 private:
  [[nodiscard]] std::optional<lease> try_acquire_upgrade_within(std::chrono::nanoseconds wait,
                                                                std::stop_token stop);
  [[nodiscard]] bool try_lock_upgrade_within(std::chrono::nanoseconds wait);
  [[nodiscard]] bool unlock_upgrade_and_lock_within(std::optional<std::chrono::nanoseconds> wait);
  [[nodiscard]] bool upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait,
                                    std::stop_token stop);
  void async_try_acquire_upgrade_within(std::chrono::nanoseconds wait, acquire_handler done,
                                        std::stop_token stop);
  void async_upgrade_within(lease& held, std::optional<std::chrono::nanoseconds> wait, upgrade_handler done,
                            std::stop_token stop);
};

}  // namespace holdfast
