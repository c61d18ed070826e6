/// When `holdfast run --again` runs its command once more.
#pragma once

#include "run/run_options.hpp"

#include <chrono>
#include <optional>
#include <random>

#include "base/backoff.hpp"

namespace holdfast::cli {

/// What one turn of a run has come to: the wait for the lock, and the command.
struct turn {
  int code = 0;              ///< the exit code
  int signal = 0;            ///< the signal that ended the command, if the exit code comes from that; else 0
  bool ran = false;          ///< the lock was granted
  bool lost = false;         ///< and lost
  bool told_to_end = false;  ///< holdfast itself got a signal that ends it
  std::chrono::nanoseconds held_for{0};
};

/// Uses no clock, and doesn't sleep.
class repetition {
 public:
  explicit repetition(run_again const when) : when_{when} {}

  /// The pause before the next turn; nullopt: this was the last one. Pauses grow, from 1 s to half a minute,
  /// until the lock was held for half a minute.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> after(turn const& last);

 private:
  run_again when_;
  bool has_run_ = false;
  std::minstd_rand random_{std::random_device{}()};
  backoff pause_{std::chrono::seconds{1}, std::chrono::seconds{30}};
};

}  // namespace holdfast::cli
