/// Numbers from keys that anybody may have written. Beyond these limits they mean nothing, and within them
/// sums of several overflow nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace holdfast::inspection {

/// Of a number, or of microseconds.
inline constexpr std::int64_t most_of_a_number = std::int64_t{1} << 60U;
/// Of milliseconds: as microseconds they are below that.
inline constexpr std::int64_t most_ms = std::int64_t{1} << 50U;

[[nodiscard]] constexpr std::int64_t bounded(std::int64_t number,
                                             std::int64_t most = most_of_a_number) noexcept {
  return std::clamp(number, -most, most);
}

/// Of a score, which may be infinite, or no number.
[[nodiscard]] inline std::int64_t bounded(double score, std::int64_t most = most_of_a_number) noexcept {
  if (std::isnan(score)) return 0;
  auto const limit = static_cast<double>(most);
  return std::llround(std::clamp(score, -limit, limit));
}

[[nodiscard]] constexpr std::chrono::milliseconds bounded_ms(std::int64_t number) noexcept {
  return std::chrono::milliseconds{bounded(number, most_ms)};
}

}  // namespace holdfast::inspection
