/// One wait of one lease on the condition of its lock: its steps, whether a thread waits for each or not.
#pragma once

#include <condition_variable>
#include <optional>
#include <string>

#include "engine/core.hpp"
#include "sync/pinned_queue.hpp"

namespace holdfast::sync {

/// Should it end early, its lease is lost, and it doesn't wait any more. `name` and the lease must outlive
/// it.
class condition_wait {
 public:
  condition_wait(engine::core& engine, std::string const& name, engine::lease_state& held);
  condition_wait(condition_wait const&) = delete;
  condition_wait& operator=(condition_wait const&) = delete;
  ~condition_wait();

  /// The request that gives the lease back, and begins the wait; for lay_down().
  [[nodiscard]] call beginning();
  void has_begun() noexcept { laid_down_ = true; }

  /// What is acquired until the notification comes, and how.
  [[nodiscard]] engine::lock_queue_ptr const& seat() const noexcept { return seat_.queue(); }
  [[nodiscard]] engine::effective_options_ptr seat_options() const;
  [[nodiscard]] engine::lock_calls::particulars seat_particulars() const;
  void was_notified(engine::lease_state_ptr& notified) noexcept;
  /// Whether the lock is wanted all the same: the wait was stopped, or the server is away.
  [[nodiscard]] bool goes_on_after(error const& failure) noexcept;
  /// The time is up: the question whether it was notified. `timeout`: the server says that it waited until
  /// now. If that can't be asked (null) the caller has to look.
  [[nodiscard]] call leaving();
  std::cv_status has_left(resp::reply const* reply) noexcept;

  /// The same kind of lock, with the same options.
  [[nodiscard]] engine::lock_queue_ptr const& lock() const noexcept { return lock_.queue(); }
  [[nodiscard]] engine::effective_options_ptr lock_options() const;
  [[nodiscard]] static engine::lock_calls::particulars lock_particulars();
  void missed(error const& failure) noexcept;
  /// Throws std::bad_alloc, with nothing changed.
  void take_up(engine::lease_state& next);

 private:
  engine::core& core_;
  std::string const& name_;
  engine::lease_state& lease_;
  pinned_queue seat_;
  pinned_queue lock_;
  loss_cause cause_ = loss_cause::unreachable;
  bool waits_ = false;      ///< the server may have it among the waiters
  bool laid_down_ = false;  ///< the lease is given back, and not taken up again
};

}  // namespace holdfast::sync
