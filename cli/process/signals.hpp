/// The signals of `holdfast run`: blocked, and received one by one by the main thread. There is no handler
/// but that of endable_by_signals, so async-signal-safety is not required.
#pragma once

#include <signal.h>
#include <time.h>

#include <chrono>
#include <initializer_list>

namespace holdfast::cli {

/// Blocks the signals for this thread and all threads started later: construct it before the client. They
/// stay blocked until the end of the process, since a late wake() would otherwise end it.
class signals {
 public:
  signals();
  ~signals();
  signals(signals const&) = delete;
  signals& operator=(signals const&) = delete;

  /// Waits for the next signal. 0 stands for wake() and for the timer.
  [[nodiscard]] int wait() const;

  /// Whether wait() has returned a signal that ends the program, in any call; also when the object has ended.
  [[nodiscard]] static bool told_to_end() noexcept { return was_told_to_end; }

  /// Makes wait() return 0 once, after `delay`; replaces an earlier delay. Uses CLOCK_BOOTTIME like the
  /// leases: after a suspend it fires at once.
  void wake_in(std::chrono::nanoseconds delay) const;

  /// Makes wait() return 0; thread-safe.
  static void wake() noexcept;

  /// Drops a copy of the signal that came since.
  static void forget(int signal) noexcept;

  /// Stops this process as ^Z does. Returns when it is continued, or at once if no process could continue it
  /// (the kernel ignores the stop in an orphaned process group), or if it was continued already: the stop
  /// would discard the SIGCONT that waits.
  static void stop_here();

  /// For a forked child before exec: restores the mask and dispositions that holdfast found.
  /// Async-signal-safe.
  void restore_in_child() const noexcept;

  /// Those that end the wait for a lock.
  static constexpr std::initializer_list<int> ending{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  /// As under nohup(1), or ^C in the background of a script.
  [[nodiscard]] static bool is_ignored(int signal) noexcept;
  [[nodiscard]] static bool is_ending(int signal) noexcept;
  /// Whether wait() would return it.
  [[nodiscard]] static bool is_pending(int signal) noexcept;

 private:
  sigset_t taken_{};
  sigset_t mask_before_{};
  struct sigaction chld_before_{};
  struct sigaction pipe_before_{};
  timer_t timer_{};
  inline static bool was_told_to_end = false;  // touched by the main thread only
};

/// For as long as it lives, these signals do in this thread what they do by default: they end the process, or
/// stop it. Ignored signals stay ignored.
class default_actions {
 public:
  explicit default_actions(std::initializer_list<int> numbers);
  ~default_actions();
  default_actions(default_actions const&) = delete;
  default_actions& operator=(default_actions const&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace holdfast::cli
