/// Counts what is on its way inside this process, so that a clock can stand still until it has arrived.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace holdfast::memory {

/// Something that is on its way for the life of this object: a handler that was posted to a client's loop.
class activity {
 public:
  activity() noexcept : counted_{true} {
    begun_.fetch_add(1);
    under_way_.fetch_add(1);
  }
  activity(activity&& other) noexcept : counted_{std::exchange(other.counted_, false)} {}
  activity& operator=(activity&&) = delete;
  ~activity() {
    if (counted_) under_way_.fetch_sub(1);
  }

  /// How many there have been: unchanged if nothing has begun in between.
  [[nodiscard]] static std::uint64_t begun() noexcept { return begun_.load(); }
  [[nodiscard]] static bool any() noexcept { return under_way_.load() != 0; }

 private:
  static inline constinit std::atomic<std::uint64_t> begun_{0};
  static inline constinit std::atomic<std::int64_t> under_way_{0};

  bool counted_;
};

}  // namespace holdfast::memory
