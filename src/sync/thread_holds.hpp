/// Which thread holds which lease of one lock object.
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

/// An object that is notified of the end of a thread.
class thread_end {
 public:
  thread_end() = default;
  thread_end(thread_end const&) = delete;
  thread_end& operator=(thread_end const&) = delete;
  virtual ~thread_end() = default;

  /// The calling thread ends while it holds this object.
  virtual void thread_ends() noexcept = 0;
};

/// This thread holds `guest`, which is notified if the thread ends before forget_hold. Costs two atomic
/// operations, however much the thread holds, and an allocation only where it holds more than ever before.
void note_hold(std::shared_ptr<thread_end> const& guest);

/// This thread doesn't hold `guest` any longer.
void forget_hold(thread_end const& guest) noexcept;

/// The thread ends and its last destructors are running: its holds have been taken from it.
[[nodiscard]] bool thread_is_ending() noexcept;

/// The holds of one lock object, by thread. As a rule there is one, the newest. Others belong to a lock that
/// several threads may hold, or to threads whose lease was lost while the next thread of this process holds
/// the lock already: those threads learn of the loss when they unlock.
template <class Lease>
class thread_holds final : public thread_end, public std::enable_shared_from_this<thread_holds<Lease>> {
 public:
  /// The greatest nesting depth of one thread.
  static constexpr std::int32_t deepest = 1'000'000;

  enum class nest_result { yes, lost, too_deep };
  enum class leave_result { nothing, nested, last };

  /// `abandoned` gets the lease that a thread held when it ended; called on that thread.
  explicit thread_holds(std::function<void(Lease)> abandoned) : abandoned_{std::move(abandoned)} {}

  /// True if the calling thread holds the lock.
  [[nodiscard]] bool held_by_this_thread() noexcept {
    auto const thread = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == thread) return true;
    if (!any_others_.load(std::memory_order_relaxed)) return false;
    std::lock_guard const alone{guard()};
    return find(thread) != nullptr;
  }

  /// What `look` makes of the lease that the calling thread holds, or of an empty one. It is called under a
  /// guard: it mustn't wait, nor take the lock of a client.
  template <class Look>
  [[nodiscard]] auto look_at_own(Look look) {
    std::lock_guard const alone{guard()};
    auto const* const own_hold = find(std::this_thread::get_id());
    return own_hold != nullptr ? look(own_hold->lease) : look(Lease{});
  }

  /// This thread holds the lock from now on.
  void add(Lease lease) {
    note_hold(this->shared_from_this());
    std::lock_guard const alone{guard()};
    if (newest_.thread != std::thread::id{}) {
      others_.push_back(std::move(newest_));
      any_others_.store(true, std::memory_order_relaxed);
    }
    newest_ = {std::this_thread::get_id(), std::move(lease)};
    owner_.store(newest_.thread, std::memory_order_relaxed);
  }

  /// This thread, which holds the lock, holds it once more.
  [[nodiscard]] nest_result again() noexcept {
    std::lock_guard const alone{guard()};
    auto& own_hold = *find(std::this_thread::get_id());
    if (!own_hold.lease.valid()) return nest_result::lost;
    if (own_hold.depth == deepest) return nest_result::too_deep;
    ++own_hold.depth;
    return nest_result::yes;
  }

  /// This thread holds the lock once less; the last time moves its lease into `lease`.
  [[nodiscard]] leave_result leave(Lease& lease) noexcept {
    {
      std::lock_guard const alone{guard()};
      auto* const own_hold = find(std::this_thread::get_id());
      if (own_hold == nullptr) return leave_result::nothing;
      if (--own_hold->depth > 0) return leave_result::nested;
      lease = take(*own_hold);
    }
    forget_hold(*this);
    return leave_result::last;
  }

  /// Drops all holds, at the end of the lock object.
  void clear() noexcept {
    forget_hold(*this);
    hold newest;
    std::vector<hold> others;
    std::lock_guard const alone{guard()};  // destroyed before the holds: releasing leases takes time
    std::swap(newest, newest_);
    std::swap(others, others_);
    owner_.store({}, std::memory_order_relaxed);
    any_others_.store(false, std::memory_order_relaxed);
  }

  void thread_ends() noexcept override {
    Lease left_behind;
    {
      std::lock_guard const alone{guard()};
      auto* const own_hold = find(std::this_thread::get_id());
      if (own_hold == nullptr) return;
      left_behind = take(*own_hold);
    }
    abandoned_(std::move(left_behind));
  }

 private:
  struct hold {
    std::thread::id thread{};
    Lease lease{};
    std::int32_t depth = 1;
  };

  [[nodiscard]] std::mutex& guard() const noexcept { return guard_across_fork(this); }

  hold* find(std::thread::id thread) noexcept {
    if (newest_.thread == thread) return &newest_;
    auto const other = std::find_if(others_.begin(), others_.end(),
                                    [thread](hold const& entry) { return entry.thread == thread; });
    return other == others_.end() ? nullptr : &*other;
  }

  Lease take(hold& entry) noexcept {
    auto lease = std::move(entry.lease);
    if (&entry == &newest_) {
      owner_.store({}, std::memory_order_relaxed);
      newest_.thread = {};
    } else {
      if (&entry != &others_.back()) entry = std::move(others_.back());
      others_.pop_back();
      any_others_.store(!others_.empty(), std::memory_order_relaxed);
    }
    return lease;
  }

  std::function<void(Lease)> const abandoned_;
  // Under the guard.
  hold newest_{};
  std::vector<hold> others_{};

  std::atomic<std::thread::id> owner_{};  ///< newest_.thread
  std::atomic<bool> any_others_{false};
};

}  // namespace holdfast::sync
