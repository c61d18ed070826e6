/// Requests beside the engine that count once, however often they are sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.hpp"

namespace holdfast::sync {

/// Never twice the same in a process; with the client's uuid, nowhere.
[[nodiscard]] std::uint64_t next_request() noexcept;

/// What one object's requests have noted in the server: that each was carried out. Those that were answered
/// are cleared away by a later one. For any thread.
class idempotency_marks {
 public:
  /// How long the server keeps one. Longer than TCP goes on delivering what was sent before a connection
  /// broke (15 minutes), since that copy would count a second time.
  static constexpr std::chrono::hours kept{1};
  static constexpr std::int64_t kept_ms = std::chrono::milliseconds{kept}.count();

  /// Keys of requests that no copy is left of.
  [[nodiscard]] std::vector<std::string> take_answered() {
    std::lock_guard const hold{guard_across_fork(this)};
    return std::exchange(answered_, {});
  }
  void add_answered(std::string key) {
    std::lock_guard const hold{guard_across_fork(this)};
    answered_.push_back(std::move(key));
  }

 private:
  std::vector<std::string> answered_;  ///< under the guard
};

}  // namespace holdfast::sync
