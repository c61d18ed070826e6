/// Whether this process stood still: it was stopped, or the machine was suspended.
#pragma once

#include "common/boot_time.hpp"
#include "common/duration.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace holdfast::cli {

/// Known by a timer that comes much too late.
class standstill {
 public:
  /// The timer is set for a sleep of at most so long.
  void before_sleep(std::chrono::nanoseconds const at_most) { due_ = boot_time() + at_most; }
  void after_sleep() { late_ = boot_time() - due_; }

  [[nodiscard]] bool noticed() const { return late_ >= std::chrono::seconds{1}; }
  [[nodiscard]] std::string to_string() const {
    return fmt::format("holdfast stood still for at least {} (stopped, or the machine was suspended)",
                       cli::to_string(std::chrono::floor<std::chrono::seconds>(late_)));
  }

 private:
  std::chrono::nanoseconds due_ = boot_time();
  std::chrono::nanoseconds late_{0};
};

}  // namespace holdfast::cli
