/// The clock of deadlines.
#pragma once

#include <chrono>
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

  static time_point now() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
  }
};

using time_point = boot_clock::time_point;

}  // namespace holdfast
