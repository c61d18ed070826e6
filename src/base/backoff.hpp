/// Pauses between tries.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace holdfast {

/// Exponential back-off with full jitter: uniform in [floor, min(cap, floor·2ⁿ)], where n is the number of
/// failed tries. Full jitter keeps clients that lost the same server at the same moment from coming back at
/// the same moment. Uses no clock: the caller sleeps.
class backoff {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  /// A floor under 1 ns counts as 1 ns, a cap under the floor as the floor.
  backoff(nanoseconds floor, nanoseconds cap) noexcept
      : floor_{std::max(floor, nanoseconds{1})}, cap_{std::max(cap, floor_)}, ceiling_{floor_} {}

  /// The next pause; each call doubles the range, up to the cap. The first one draws from [floor, 2·floor].
  template <std::uniform_random_bit_generator Engine>
  [[nodiscard]] nanoseconds next(Engine& engine) {
    ceiling_ = ceiling_ > cap_ / 2 ? cap_ : ceiling_ * 2;
    return nanoseconds{
        std::uniform_int_distribution<nanoseconds::rep>{floor_.count(), ceiling_.count()}(engine)};
  }

  /// After a success: the next pause is a short one again.
  void reset() noexcept { ceiling_ = floor_; }

 private:
  nanoseconds floor_;
  nanoseconds cap_;
  nanoseconds ceiling_;
};

}  // namespace holdfast
