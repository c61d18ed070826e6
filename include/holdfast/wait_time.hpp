/// How long to wait, whatever duration the caller says it in.
#pragma once

#include <chrono>

namespace holdfast {

/// Rounds up, and never overflows: a century is as good as for ever.
template <class Rep, class Period>
[[nodiscard]] std::chrono::nanoseconds to_wait(std::chrono::duration<Rep, Period> const& wait) {
  constexpr auto century = std::chrono::hours{24 * 365 * 100};
  if (wait >= century) return century;
  if (wait <= -century) return -century;
  return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

}  // namespace holdfast
