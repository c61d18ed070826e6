/// The std shape of a lock: which thread holds it, and what.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.hpp"

namespace holdfast::sync {

/// Whom the end of a thread concerns.
class thread_guest {
 public:
  thread_guest() = default;
  thread_guest(thread_guest const&) = delete;
  thread_guest& operator=(thread_guest const&) = delete;
  virtual ~thread_guest() = default;

  /// The calling thread ends, and holds something of this object.
  virtual void thread_ends() noexcept = 0;
};

/// This thread holds something: `who` is told if it ends so. Costs two atomic operations, however much it
/// holds, and an allocation only where it holds more than before.
void note_hold(std::shared_ptr<thread_guest> const& who);

/// It doesn't hold it any longer.
void forget_hold(thread_guest const& who) noexcept;

/// What this thread held has been taken from it, since it ends: its last destructors are running.
[[nodiscard]] bool thread_is_ending() noexcept;

/// The holds of one lock object, by thread. As a rule there is one, the newest. Others are of a lock that
/// several threads may hold, or of threads whose lease was lost while the next one of this process holds
/// already: they learn it when they unlock.
template <class Lease>
class thread_holds final : public thread_guest, public std::enable_shared_from_this<thread_holds<Lease>> {
 public:
  /// How often one thread may lock it inside one another.
  static constexpr std::int32_t deepest = 1'000'000;

  enum class nested { yes, lost, too_deep };
  enum class left { nothing, nested, last };

  /// `abandoned` gets what a thread held when it ended; on that thread.
  explicit thread_holds(std::function<void(Lease)> abandoned) : abandoned_{std::move(abandoned)} {}

  /// Does this thread hold it?
  [[nodiscard]] bool mine() noexcept {
    auto const me = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == me) return true;
    if (!any_others_.load(std::memory_order_relaxed)) return false;
    std::lock_guard const alone{guard()};
    return find(me) != nullptr;
  }

  /// This thread holds it from now on.
  void keep(Lease held) {
    note_hold(this->shared_from_this());
    std::lock_guard const alone{guard()};
    if (now_.by != std::thread::id{}) {
      others_.push_back(std::move(now_));
      any_others_.store(true, std::memory_order_relaxed);
    }
    now_ = {std::this_thread::get_id(), std::move(held)};
    owner_.store(now_.by, std::memory_order_relaxed);
  }

  /// This thread, which holds it, holds it once more.
  [[nodiscard]] nested again() noexcept {
    std::lock_guard const alone{guard()};
    auto& hold_of_mine = *find(std::this_thread::get_id());
    if (!hold_of_mine.held.valid()) return nested::lost;
    if (hold_of_mine.depth == deepest) return nested::too_deep;
    ++hold_of_mine.depth;
    return nested::yes;
  }

  /// This thread holds it once less; after the last time `what` is what it held.
  [[nodiscard]] left leave(Lease& what) noexcept {
    {
      std::lock_guard const alone{guard()};
      auto* const hold_of_mine = find(std::this_thread::get_id());
      if (hold_of_mine == nullptr) return left::nothing;
      if (--hold_of_mine->depth > 0) return left::nested;
      what = take(*hold_of_mine);
    }
    forget_hold(*this);
    return left::last;
  }

  /// Lets go of all, for the end of the lock object.
  void clear() noexcept {
    forget_hold(*this);
    hold now;
    std::vector<hold> others;
    std::lock_guard const alone{guard()};  // destroyed first: releasing takes its time
    std::swap(now, now_);
    std::swap(others, others_);
    owner_.store({}, std::memory_order_relaxed);
    any_others_.store(false, std::memory_order_relaxed);
  }

  void thread_ends() noexcept override {
    Lease left_behind;
    {
      std::lock_guard const alone{guard()};
      auto* const hold_of_mine = find(std::this_thread::get_id());
      if (hold_of_mine == nullptr) return;
      left_behind = take(*hold_of_mine);
    }
    abandoned_(std::move(left_behind));
  }

 private:
  struct hold {
    std::thread::id by{};
    Lease held{};
    std::int32_t depth = 1;
  };

  [[nodiscard]] std::mutex& guard() const noexcept { return guard_across_fork(this); }

  hold* find(std::thread::id by) noexcept {
    if (now_.by == by) return &now_;
    auto const other =
        std::find_if(others_.begin(), others_.end(), [by](hold const& one) { return one.by == by; });
    return other == others_.end() ? nullptr : &*other;
  }

  Lease take(hold& which) noexcept {
    auto held = std::move(which.held);
    if (&which == &now_) {
      owner_.store({}, std::memory_order_relaxed);
      now_.by = {};
    } else {
      if (&which != &others_.back()) which = std::move(others_.back());
      others_.pop_back();
      any_others_.store(!others_.empty(), std::memory_order_relaxed);
    }
    return held;
  }

  std::function<void(Lease)> const abandoned_;
  // Under the guard.
  hold now_{};
  std::vector<hold> others_{};

  std::atomic<std::thread::id> owner_{};  ///< now_.by
  std::atomic<bool> any_others_{false};
};

}  // namespace holdfast::sync
