/// The clock of leases: counts the time during which the machine is suspended.
#pragma once

#include <time.h>

#include <chrono>

namespace holdfast::cli {

/// Async-signal-safe.
[[nodiscard]] inline std::chrono::nanoseconds boot_time() noexcept {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace holdfast::cli
