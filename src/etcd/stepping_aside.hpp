/// When a waiter for several names stands in their queues. No clock.
#pragma once

#include <chrono>

namespace holdfast::etcd {

/// A place in several queues holds up all behind it in each of them, and one of these may be whom it waits
/// for: a program that takes the names one by one in another order. So it has its keys for the first second,
/// has none for the next one, and so on, each time for as long as it has waited altogether.
struct stepping_aside {
  bool aside = false;  ///< it has no keys for now
  std::chrono::microseconds left{};

  /// For one that has waited for so long.
  explicit constexpr stepping_aside(std::chrono::microseconds waited) noexcept {
    std::chrono::microseconds end = first;
    for (; waited >= end; end *= 2) aside = !aside;
    left = end - waited;
  }

  static constexpr std::chrono::seconds first{1};
};

}  // namespace holdfast::etcd
