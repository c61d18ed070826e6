/// Decides when a command must be ended so that it is gone before somebody else can hold its lock. No clock,
/// no I/O.
#pragma once

#include <holdfast/lease.hpp>

#include <chrono>
#include <optional>

namespace holdfast::cli {

enum class on_lost { term, kill, warn };

/// A command gets SIGTERM while the lease has some time left (the grace), SIGKILL in the last bit of it.
/// Renewals come every third of the ttl, so a lease that is kept up has always more than the grace left. A
/// lease that was handed over begins with a short grant instead of the ttl; until it is renewed grace and
/// last bit are parts of the grant.
class loss_watch {
 public:
  using time = std::chrono::nanoseconds;  ///< since any fixed point; suspended time counts

  enum class action { nothing, warn, terminate, kill };
  enum class reason { none, not_renewed, max_hold, lost };
  struct decision {
    action what = action::nothing;
    reason why = reason::none;
    time look_again{};  ///< after so long, unless told earlier
  };

  /// `max_hold` 0: no limit.
  loss_watch(on_lost policy, time ttl, time max_hold, time now, time remaining);

  /// What to do now. Each action is asked for once.
  [[nodiscard]] decision look(time now, time remaining, loss_cause cause);

  /// When the command must be dead even if nobody looks again: a little after look() would have it killed.
  [[nodiscard]] time latest_end() const noexcept;
  [[nodiscard]] time grace() const noexcept;

  /// Was the command told to end, or ended?
  [[nodiscard]] bool acted() const noexcept { return stage_ != action::nothing && stage_ != action::warn; }
  [[nodiscard]] bool killed() const noexcept { return stage_ == action::kill; }

 private:
  [[nodiscard]] time last_bit() const noexcept;
  [[nodiscard]] decision look_at_held(time now, time remaining);
  [[nodiscard]] decision look_at_lost(time now, loss_cause cause);
  [[nodiscard]] decision step(action what, reason why, time look_again);

  on_lost policy_;
  time ttl_;
  time most_;  // the longest that the lease was seen to have left, at most the ttl
  time limit_grace_;
  time hold_end_;
  time slack_;
  time deadline_;  // as of the last look
  std::optional<time> kill_at_;
  action stage_ = action::nothing;
};

}  // namespace holdfast::cli
