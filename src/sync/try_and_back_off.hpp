/// The order of attempts for locks that are acquired together but not in one step. No I/O, no clock.
#pragma once

#include <cstddef>

namespace holdfast::sync {

/// The algorithm of std::lock: wait for the first lock, try the others without waiting. If a lock is busy,
/// release all, and wait for the busy lock first in the next round. Nothing is held while waiting, so no
/// circle of waiters can form.
class try_and_back_off {
 public:
  explicit try_and_back_off(std::size_t count) : count_{count} {}

  /// All locks are acquired.
  [[nodiscard]] bool complete() const noexcept { return taken_ == count_; }

  /// Index of the next lock to try.
  [[nodiscard]] std::size_t next() const noexcept {
    if (taken_ == 0) return first_;
    return taken_ <= first_ ? taken_ - 1 : taken_;
  }

  /// Nothing is held: the next attempt may wait.
  [[nodiscard]] bool may_wait() const noexcept { return taken_ == 0; }

  /// The next lock was acquired.
  void got() noexcept { ++taken_; }

  /// The next lock was busy: all must be released.
  void busy() noexcept {
    first_ = next();
    taken_ = 0;
  }

  /// A lock was lost in the meantime: starts over.
  void again() noexcept { taken_ = 0; }

 private:
  std::size_t count_;
  std::size_t first_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace holdfast::sync
