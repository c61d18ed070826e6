/// Ends the command when holdfast itself can't do so.
#pragma once

#include "run/loss_watch.hpp"

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::cli {

/// A small process in the command's group that only waits. When holdfast is killed, it sends the group
/// SIGTERM and, a grace later, SIGKILL. When holdfast is frozen, it sends SIGKILL at the last given time.
/// Without it the command would run on under a lock that is not renewed, beside the next holder.
class guard {
 public:
  /// Forks. With on_lost::warn there is no process: the command is to be left alone. Throws failure.
  guard(pid_t group, on_lost policy, std::chrono::nanoseconds grace, std::chrono::nanoseconds kill_at);
  ~guard();  ///< Ends the guard; the group is left alone from now on.
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;

  /// Sets the time of CLOCK_BOOTTIME at which the group must be dead, even if holdfast is frozen.
  void kill_at(std::chrono::nanoseconds time) noexcept;

 private:
  using shared_time = std::atomic<std::int64_t>;  // nanoseconds, in memory shared with the guard's process
  static_assert(shared_time::is_always_lock_free);

  [[noreturn]] static void watch(int lifeline, pid_t group, on_lost policy, std::chrono::nanoseconds grace,
                                 shared_time const& kill_at) noexcept;

  pid_t pid_ = -1;
  int lifeline_ = -1;  // the other end notices our death
  shared_time* kill_at_ = nullptr;
};

}  // namespace holdfast::cli
