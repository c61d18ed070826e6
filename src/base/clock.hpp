/// The clock of deadlines.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace holdfast {

/// Cpp17Clock over CLOCK_BOOTTIME. A lease goes on expiring on the server while this machine is suspended.
/// CLOCK_MONOTONIC, hence std::chrono::steady_clock, stands still meanwhile: after a resume a holder would
/// take an expired lease for valid. Wall clocks don't work either: they can be set back.
struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;

  /// The time in nanoseconds that a simulation has in place of the machine's, for the whole process; 0: none.
  static inline constinit std::atomic<std::int64_t> stand_in{0};

  static time_point now() noexcept {
    if (auto const simulated = stand_in.load(std::memory_order_relaxed); simulated != 0)
      return time_point{duration{simulated}};
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
  }
};

using time_point = boot_clock::time_point;

}  // namespace holdfast
