/// Ends the command when holdfast itself can't any more.
#pragma once

#include "loss_watch.hpp"

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::cli {

/// A small process of its own, in the command's group, which does nothing but wait. When holdfast is killed
/// it sends the group SIGTERM and, a grace later, SIGKILL; when holdfast is frozen it sends SIGKILL at the
/// time last given. Without it a command would run on under a lock that nobody renews, beside the next
/// holder.
class guard {
 public:
  /// Forks. With on_lost::warn there is no process: the user wants the command left alone. Throws failure.
  guard(pid_t group, on_lost policy, std::chrono::nanoseconds grace, std::chrono::nanoseconds kill_at);
  ~guard();  ///< All is well: the group is left alone from now on.
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;

  /// Frozen or not, the group is to be dead at this time of CLOCK_BOOTTIME.
  void kill_at(std::chrono::nanoseconds time) noexcept;

 private:
  using shared_time = std::atomic<std::int64_t>;  // nanoseconds, in memory shared with the guard's process
  static_assert(shared_time::is_always_lock_free);

  [[noreturn]] static void watch(int lifeline, pid_t group, on_lost policy, std::chrono::nanoseconds grace,
                                 shared_time const& kill_at) noexcept;

  pid_t pid_ = -1;
  int lifeline_ = -1;  // its other end tells of our death
  shared_time* kill_at_ = nullptr;
};

}  // namespace holdfast::cli
