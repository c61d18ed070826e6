/// Idempotency of requests outside the engine: each takes effect once, however often it is sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.hpp"

namespace holdfast::sync {

/// Unique in the process; with the client's uuid, unique everywhere.
[[nodiscard]] std::uint64_t next_request_number() noexcept;

/// The marks that one object's requests leave in the server: each says that its request was carried out. A
/// later request deletes the marks of answered requests. For any thread.
class idempotency_marks {
 public:
  /// Lifetime of a mark in the server. Longer than TCP delivers data sent before a connection broke
  /// (15 minutes), since that copy would take effect a second time.
  static constexpr std::chrono::hours kept{1};
  static constexpr std::int64_t kept_ms = std::chrono::milliseconds{kept}.count();

  /// Keys of requests of which no copy can still arrive.
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
