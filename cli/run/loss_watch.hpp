/// Decides when a command must be ended so that it is gone before another process can hold its lock. No
/// clock, no I/O.
#pragma once

#include <holdfast/lease.hpp>

#include <chrono>
#include <optional>

namespace holdfast::cli {

enum class on_lost { term, kill, warn };

/// SIGTERM is due while some time of the lease remains (the grace), SIGKILL in its last bit. Renewals come
/// every third of the ttl, so a renewed lease always has more than the grace left. A lease that a message
/// granted begins with a short grant instead of the ttl. Until it is renewed, the grace and the last bit are
/// fractions of that grant.
class loss_watch {
 public:
  using time = std::chrono::nanoseconds;  ///< since any fixed point; includes suspended time

  enum class action { nothing, warn, terminate, kill };
  enum class reason { none, not_renewed, max_hold, lost, rest };
  struct decision {
    action step = action::nothing;
    reason why = reason::none;
    time look_again{};  ///< the time until the next look, at the latest
  };

  /// `max_hold` 0: no limit.
  loss_watch(on_lost policy, time ttl, time max_hold, time now, time remaining);

  /// Learns how the lease is, for latest_end(), where no action can be taken.
  void note(time now, time remaining, loss_cause cause) noexcept;

  /// The action that is due now. Each action is returned once.
  [[nodiscard]] decision look(time now, time remaining, loss_cause cause);

  /// The command has ended after it was told to. What it has left is to be killed a grace later, also if the
  /// lease was renewed since: it may ignore SIGTERM, or not have got it.
  void command_ended(time now) noexcept;

  /// The time at which the command must be dead even without another look: a little after look() would have
  /// it killed.
  [[nodiscard]] time latest_end() const noexcept;
  [[nodiscard]] time grace() const noexcept;

  /// Whether the command was told to end, or killed.
  [[nodiscard]] bool acted() const noexcept { return stage_ != action::nothing && stage_ != action::warn; }
  [[nodiscard]] bool killed() const noexcept { return stage_ == action::kill; }

 private:
  [[nodiscard]] static bool is_held(time const remaining, loss_cause const cause) noexcept {
    return cause == loss_cause::none && remaining > time::zero();
  }
  [[nodiscard]] time last_bit() const noexcept;
  [[nodiscard]] decision look_at_held(time now, time remaining);
  [[nodiscard]] decision look_at_lost(time now, loss_cause cause);
  [[nodiscard]] decision step(action next, reason trigger, time look_again);

  on_lost policy_;
  time ttl_;
  time most_;  // the longest remaining time seen, at most the ttl
  time limit_grace_;
  time hold_end_;
  time deadline_;                 // as of the last look
  std::optional<time> kill_at_;   // after a sudden loss
  std::optional<time> rest_end_;  // for what an ended command has left
  action stage_ = action::nothing;
};

}  // namespace holdfast::cli
