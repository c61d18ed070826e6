/// The signals of `holdfast run`: blocked, and taken one by one by the main thread. No handler runs anywhere,
/// so nothing here is bound to async-signal-safety.
#pragma once

#include <signal.h>
#include <time.h>

#include <chrono>

namespace holdfast::cli {

/// Blocks the signals for this thread and all that are started later: make it before the client. They stay
/// blocked to the end of the process, since a late wake() would otherwise end it.
class signals {
 public:
  signals();
  ~signals();
  signals(signals const&) = delete;
  signals& operator=(signals const&) = delete;

  /// Waits for the next signal. 0 stands for wake() and for the timer.
  [[nodiscard]] int wait() const;

  /// Makes wait() return 0 once, so much later; replaces the time asked for before. On CLOCK_BOOTTIME as the
  /// leases are: after a suspend it fires at once.
  void wake_in(std::chrono::nanoseconds delay) const;

  /// Makes wait() return 0; from any thread.
  static void wake() noexcept;

  /// Stops this process as ^Z does. Returns when it is continued; at once where nobody could continue it (the
  /// kernel ignores the stop in an orphaned process group).
  void stop_here() const;

  /// In a forked child before exec: mask and dispositions as holdfast found them. Async-signal-safe.
  void restore_in_child() const noexcept;

  /// Is it passed on to the command?
  [[nodiscard]] static bool is_passed_on(int signal) noexcept;
  /// Does it end the wait for a lock?
  [[nodiscard]] static bool is_ending(int signal) noexcept;

 private:
  sigset_t taken_{};
  sigset_t mask_before_{};
  struct sigaction chld_before_{};
  struct sigaction pipe_before_{};
  timer_t timer_{};
};

}  // namespace holdfast::cli
