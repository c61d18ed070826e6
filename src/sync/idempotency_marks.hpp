/// Idempotency of requests outside the engine: each takes effect once, however often it is sent.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
  static constexpr std::size_t most_at_once = 64;

  /// Keys of requests of which no copy can still arrive: some of them, since a script takes 8,000 keys at
  /// most, and each request leaves one key.
  [[nodiscard]] std::vector<std::string> take_answered() {
    std::lock_guard const hold{guard_across_fork(this)};
    auto const some = answered_.end() - static_cast<std::ptrdiff_t>(std::min(answered_.size(), most_at_once));
    std::vector<std::string> taken{std::make_move_iterator(some), std::make_move_iterator(answered_.end())};
    answered_.erase(some, answered_.end());
    return taken;
  }
  void add_answered(std::string key) {
    std::lock_guard const hold{guard_across_fork(this)};
    answered_.push_back(std::move(key));
  }

 private:
  std::vector<std::string> answered_;  ///< under the guard
};

}  // namespace holdfast::sync
