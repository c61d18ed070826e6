/// What is said while a lock is waited for.
#pragma once

#include "run/locks.hpp"

#include <chrono>
#include <string>

namespace holdfast::cli {

/// Says after a second, on a terminal, what is in the way, and again when that has changed; with --verbose
/// also elsewhere and at once. Anywhere that a key never expires: otherwise nothing would ever be said.
class wait_report {
 public:
  /// `title`: of the lock. All must outlive it.
  wait_report(run_lock& lock, std::string const& title, std::string const& server);

  /// The time until the next look.
  [[nodiscard]] std::chrono::nanoseconds pause() const;
  /// Looks, and says what is new, if it is time for that.
  void look();

 private:
  run_lock& lock_;
  std::string const& title_;
  std::string const& server_;
  bool shown_;  // each change is said
  bool verbose_;
  std::chrono::nanoseconds next_;  // look
  std::string said_{};             // obstacle::identity
  bool warned_ = false;            // that the key never expires
};

}  // namespace holdfast::cli
