/// Whether this process stood still: it was stopped, or the machine was suspended.
#pragma once

#include "common/boot_time.hpp"
#include "common/duration.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace holdfast::cli {

/// Known by a timer that comes much too late, or by what is done between two sleeps and lasts much too long.
class standstill {
 public:
  /// The timer is set for a sleep of at most so long.
  void before_sleep(std::chrono::nanoseconds const at_most) { due_ = note() + at_most; }
  void after_sleep() { due_ = note(); }

  /// A moment ago: what comes of it may show only behind the next sleep.
  [[nodiscard]] bool noticed() const {
    return late_ >= shortest && boot_time() - noticed_at_ < std::chrono::seconds{5};
  }
  [[nodiscard]] std::string to_string() const {
    return fmt::format("holdfast stood still for at least {} (stopped, or the machine was suspended)",
                       cli::to_string(std::chrono::floor<std::chrono::seconds>(late_)));
  }

 private:
  static constexpr std::chrono::seconds shortest{1};

  /// When it looked: if it stands still right behind that, the next look notices it.
  std::chrono::nanoseconds note() {
    auto const now = boot_time();
    if (now - due_ >= shortest) {
      late_ = now - due_;
      noticed_at_ = now;
    }
    return now;
  }

  std::chrono::nanoseconds due_ = boot_time();  ///< when it is to be running, or to sleep again
  std::chrono::nanoseconds late_{0};
  std::chrono::nanoseconds noticed_at_{0};
};

}  // namespace holdfast::cli
