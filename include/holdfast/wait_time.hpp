/// How long to wait, from any duration or point in time.
#pragma once

#include <chrono>

namespace holdfast {

namespace detail {
inline constexpr std::chrono::nanoseconds century = std::chrono::hours{24 * 365 * 100};
}  // namespace detail

/// Rounds up, and never overflows: a century counts as for ever.
template <class Rep, class Period>
[[nodiscard]] std::chrono::nanoseconds to_wait(std::chrono::duration<Rep, Period> const& wait) {
  // Compared in floating point: either value may be too large for the integers of the other's unit. A value
  // that is not a number counts as the past.
  std::chrono::duration<long double> const seconds{wait};
  if (seconds >= detail::century) return detail::century;
  if (!(seconds > -detail::century)) return -detail::century;
  return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

/// The time that is left until then.
template <class Clock, class Duration>
[[nodiscard]] std::chrono::nanoseconds to_wait(std::chrono::time_point<Clock, Duration> const& until) {
  using seconds = std::chrono::duration<long double>;
  auto const now = Clock::now();
  auto const about = to_wait(seconds{until.time_since_epoch()} - seconds{now.time_since_epoch()});
  auto const far = about == detail::century || about == -detail::century;
  return far ? about : to_wait(until - now);
}

}  // namespace holdfast
