/// Injects an action into one allocation of this program: operator new and aligned_alloc() are replaced
/// (allocations.cpp).
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::test {

/// While it lives: calls `action`, which may throw, in place of the n-th allocation after its construction,
/// and of `times` allocations in a row. Counts from 0 over all threads without an uncounted_thread. Only one
/// at a time.
class nth_allocation {
 public:
  nth_allocation(std::int64_t n, std::function<void()> action, std::int64_t times = 1);
  ~nth_allocation();
  nth_allocation(nth_allocation const&) = delete;
  nth_allocation& operator=(nth_allocation const&) = delete;

  /// True: the n-th allocation has begun.
  [[nodiscard]] bool reached() const noexcept;

 private:
  std::function<void()> const action_;
};

/// While it lives, allocations of this thread don't count.
class uncounted_thread {
 public:
  uncounted_thread() noexcept;
  ~uncounted_thread();
  uncounted_thread(uncounted_thread const&) = delete;
  uncounted_thread& operator=(uncounted_thread const&) = delete;

 private:
  bool const before_;
};

}  // namespace holdfast::test
