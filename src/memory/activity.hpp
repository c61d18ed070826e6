/// Counts what is on its way inside this process, so that a clock can stand still until it has arrived.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::memory {

/// Handlers that were posted to the loop of one client, until they have run. None count any more from close()
/// on: they do nothing then, and the loop of a client that has ended may never run them.
class activity {
 public:
  activity() = default;
  activity(activity const&) = delete;
  activity& operator=(activity const&) = delete;
  ~activity() = default;

  void begin() noexcept {
    if (own_.fetch_add(1) < 0) return;
    begun_.fetch_add(1);
    under_way_.fetch_add(1);
  }
  void end() noexcept {
    if (own_.fetch_sub(1) > 0) under_way_.fetch_sub(1);
  }
  /// Once.
  void close() noexcept { under_way_.fetch_sub(own_.fetch_sub(closed)); }

  /// How many there have been: unchanged if nothing has begun in between.
  [[nodiscard]] static std::uint64_t begun() noexcept { return begun_.load(); }
  [[nodiscard]] static bool any() noexcept { return under_way_.load() != 0; }

 private:
  /// More than there can be at a time.
  static constexpr std::int64_t closed = std::int64_t{1} << 40;

  static inline constinit std::atomic<std::uint64_t> begun_{0};
  static inline constinit std::atomic<std::int64_t> under_way_{0};

  std::atomic<std::int64_t> own_{0};  ///< less than zero: closed
};

}  // namespace holdfast::memory
