/// Threads that wait for a loop.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <utility>

#include "reactor/futex.hpp"

namespace holdfast::reactor {

/// A thread that waits in loop::wait: an object on its stack, until another call wakes it with loop::wake.
class blocked_thread
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  blocked_thread() = default;
  blocked_thread(blocked_thread const&) = delete;
  blocked_thread& operator=(blocked_thread const&) = delete;
  ~blocked_thread() = default;

 private:
  friend class loop;
  friend class woken_threads;
  std::atomic<int> done_{0};
  bool asleep_ = false;                   ///< counted in loop::parked_
  bool finished_ = false;                 ///< if it was asleep, `done_` follows when the lock is free
  bool relieves_ = false;                 ///< woken to drive, though its wait hasn't ended
  blocked_thread* woken_next_ = nullptr;  ///< next in a list of woken_threads
};

/// Sleeping threads whose wait has ended. They are woken after the lock is free: earlier they would only
/// block on it.
class woken_threads {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void add(blocked_thread& thread) noexcept {
    (last_ == nullptr ? first_ : last_->woken_next_) = &thread;
    last_ = &thread;
  }

  /// Takes out all, for wake().
  [[nodiscard]] blocked_thread* take() noexcept {
    last_ = nullptr;
    return std::exchange(first_, nullptr);
  }
  /// Without the lock. A thread may be destroyed as soon as its `done_` is set.
  static void wake(blocked_thread* next) noexcept {
    while (next != nullptr) {
      auto& done = next->done_;
      next = next->woken_next_;
      done.store(1, std::memory_order_release);
      futex_wake(&done);
    }
  }

 private:
  blocked_thread* first_ = nullptr;
  blocked_thread* last_ = nullptr;
};

}  // namespace holdfast::reactor
