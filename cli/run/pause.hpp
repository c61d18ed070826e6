/// Pauses that a signal ends.
#pragma once

#include "process/signals.hpp"

#include <chrono>

namespace holdfast::cli {

/// `time`: as boot_time() counts. Kept messages are written meanwhile. Returns the signal that ended the
/// pause, or 0.
[[nodiscard]] int sleep_until(std::chrono::nanoseconds time, signals const& receiver);

}  // namespace holdfast::cli
