/// A lock as a std::timed_mutex, for any type of lease.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/lease.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sync/kind.hpp"
#include "sync/thread_holds.hpp"

namespace holdfast::sync {

template <class Lease>
class std_shape {
 public:
  using nesting = engine::exclusive_kind::nesting;

  /// `title` is the name of the lock in messages. `abandoned` gets the lease that a thread held when it
  /// ended.
  std_shape(std::string title, nesting again, std::function<void(Lease)> abandoned)
      : title_{std::move(title)},
        again_{again},
        holds_{std::make_shared<thread_holds<Lease>>(std::move(abandoned))} {}
  std_shape(std_shape const&) = delete;
  std_shape& operator=(std_shape const&) = delete;
  ~std_shape() { holds_->clear(); }

  /// `acquire` waits for a lease and returns it.
  template <class Acquire>
  void lock(Acquire acquire) {
    if (!holds_->held_by_this_thread()) {
      holds_->add(acquire());
    } else if (again_ == nesting::counted) {
      nest();
    } else {
      throw error{std::errc::resource_deadlock_would_occur,
                  "this thread holds " + title_ + " already: it would wait for itself"};
    }
  }

  /// `acquire` returns a lease or nullopt.
  template <class Acquire>
  [[nodiscard]] bool try_lock(Acquire acquire) {
    if (holds_->held_by_this_thread()) {
      if (again_ == nesting::refused) return false;
      nest();
      return true;
    }
    std::optional<Lease> acquired = acquire();
    if (acquired) holds_->add(std::move(*acquired));
    return acquired.has_value();
  }

  /// The result of the release; nullopt while the thread still holds the lock.
  std::optional<release_result> unlock() {
    auto lease = leave();
    if (!lease) return std::nullopt;
    auto const result = lease->release();
    last_.store(result, std::memory_order_relaxed);
    return result;
  }

  /// True if the calling thread holds the lock.
  [[nodiscard]] bool held_by_this_thread() noexcept { return holds_->held_by_this_thread(); }

  /// This thread, which doesn't hold the lock, holds it from now on.
  void add(Lease lease) { holds_->add(std::move(lease)); }

  /// The lease that this thread held until now; nullopt while it still holds the lock.
  [[nodiscard]] std::optional<Lease> leave() {
    Lease lease;
    switch (holds_->leave(lease)) {
      case thread_holds<Lease>::leave_result::last:
        return lease;
      case thread_holds<Lease>::leave_result::nested:
        return std::nullopt;
      case thread_holds<Lease>::leave_result::nothing:
        break;
    }
    // A guard that lives as long as its thread, or the program, unlocks after the end of the thread.
    if (thread_is_ending()) return std::nullopt;
    throw error{std::errc::operation_not_permitted,
                "unlock of " + title_ + ", which this thread does not hold"};
  }

  /// Empty before the first unlock.
  [[nodiscard]] std::optional<release_result> last_release() const noexcept {
    return last_.load(std::memory_order_relaxed);
  }

  /// What `look` makes of the lease of the calling thread: see thread_holds::look_at_own.
  template <class Look>
  [[nodiscard]] auto look_at_own(Look look) const {
    return holds_->look_at_own(std::move(look));
  }

 private:
  void nest() {
    switch (holds_->again()) {
      case thread_holds<Lease>::nest_result::yes:
        return;
      case thread_holds<Lease>::nest_result::lost:
        throw error{errc::lost, "this thread can't lock " + title_ +
                                    " again: the lock was lost meanwhile; unlock it, and lock it anew"};
      case thread_holds<Lease>::nest_result::too_deep:
        throw error{std::errc::resource_unavailable_try_again,
                    "this thread has locked " + title_ + " " + std::to_string(thread_holds<Lease>::deepest) +
                        " times without unlocking it"};
    }
  }

  std::string const title_;
  nesting const again_;
  std::shared_ptr<thread_holds<Lease>> const holds_;
  std::atomic<std::optional<release_result>> last_{};
};

}  // namespace holdfast::sync
