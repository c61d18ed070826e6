/// Whose turn it is when locks are taken together that can't be taken in one step. No I/O, no clock.
#pragma once

#include <cstddef>

namespace holdfast::sync {

/// The way of std::lock: wait for one, try the others without waiting. If one is busy, give all back, and
/// wait for that one first in the next round. Nothing is held while waiting, so nobody waits in a circle.
class try_and_back_off {
 public:
  explicit try_and_back_off(std::size_t count) : count_{count} {}

  /// All are taken.
  [[nodiscard]] bool complete() const noexcept { return taken_ == count_; }

  /// Who is asked next.
  [[nodiscard]] std::size_t next() const noexcept {
    if (taken_ == 0) return first_;
    return taken_ <= first_ ? taken_ - 1 : taken_;
  }

  /// Nothing is held: the next one may be waited for.
  [[nodiscard]] bool may_wait() const noexcept { return taken_ == 0; }

  /// The next one was got.
  void got() noexcept { ++taken_; }

  /// The next one was busy: all must go back.
  void busy() noexcept {
    first_ = next();
    taken_ = 0;
  }

  /// What was got has been lost meanwhile.
  void again() noexcept { taken_ = 0; }

 private:
  std::size_t count_;
  std::size_t first_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace holdfast::sync
