/// What becomes of one allocation of this program, whose operator new and aligned_alloc() are replaced
/// (allocations.cpp).
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::test {

/// While it lives: calls `happening`, which may throw, in place of the n-th allocation from here on, and of
/// so many in a row, counted from 0 over all threads but those that are left_alone. One at a time.
class nth_allocation {
 public:
  nth_allocation(std::int64_t n, std::function<void()> happening, std::int64_t times = 1);
  ~nth_allocation();
  nth_allocation(nth_allocation const&) = delete;
  nth_allocation& operator=(nth_allocation const&) = delete;

  /// It has come to it.
  [[nodiscard]] bool happened() const noexcept;

 private:
  std::function<void()> const happening_;
};

/// While it lives this thread's allocations don't count.
class left_alone {
 public:
  left_alone() noexcept;
  ~left_alone();
  left_alone(left_alone const&) = delete;
  left_alone& operator=(left_alone const&) = delete;

 private:
  bool const before_;
};

}  // namespace holdfast::test
