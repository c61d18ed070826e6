/// A lock as a std::timed_mutex: what its threads may do, whatever their leases are.
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

  /// `title` is what messages call the lock. `abandoned` gets what a thread held when it ended.
  std_shape(std::string title, nesting again, std::function<void(Lease)> abandoned)
      : title_{std::move(title)},
        again_{again},
        holds_{std::make_shared<thread_holds<Lease>>(std::move(abandoned))} {}
  std_shape(std_shape const&) = delete;
  std_shape& operator=(std_shape const&) = delete;
  ~std_shape() { holds_->clear(); }

  /// `acquire` waits for a lease.
  template <class Acquire>
  void lock(Acquire acquire) {
    if (!holds_->mine()) {
      holds_->keep(acquire());
    } else if (again_ == nesting::counted) {
      nest();
    } else {
      throw error{std::errc::resource_deadlock_would_occur,
                  "this thread holds " + title_ + " already: it would wait for itself"};
    }
  }

  /// `acquire` gives a lease or not.
  template <class Acquire>
  [[nodiscard]] bool try_lock(Acquire acquire) {
    if (holds_->mine()) {
      if (again_ == nesting::refused) return false;
      nest();
      return true;
    }
    std::optional<Lease> got = acquire();
    if (got) holds_->keep(std::move(*got));
    return got.has_value();
  }

  /// How it ended; nothing while the thread still holds it.
  std::optional<release_result> unlock() {
    auto mine = leave();
    if (!mine) return std::nullopt;
    auto const result = mine->release();
    last_.store(result, std::memory_order_relaxed);
    return result;
  }

  /// Does this thread hold it?
  [[nodiscard]] bool mine() noexcept { return holds_->mine(); }

  /// This thread, which doesn't hold it, holds it from now on.
  void keep(Lease held) { holds_->keep(std::move(held)); }

  /// What this thread held until now; nothing while it still does.
  [[nodiscard]] std::optional<Lease> leave() {
    Lease mine;
    switch (holds_->leave(mine)) {
      case thread_holds<Lease>::left::last:
        return mine;
      case thread_holds<Lease>::left::nested:
        return std::nullopt;
      case thread_holds<Lease>::left::nothing:
        break;
    }
    // A guard that lives as long as its thread, or the program, comes after the end of the thread.
    if (thread_is_ending()) return std::nullopt;
    throw error{std::errc::operation_not_permitted,
                "unlock of " + title_ + ", which this thread does not hold"};
  }

  [[nodiscard]] release_result last_release() const noexcept { return last_.load(std::memory_order_relaxed); }

 private:
  void nest() {
    switch (holds_->again()) {
      case thread_holds<Lease>::nested::yes:
        return;
      case thread_holds<Lease>::nested::lost:
        throw error{errc::lost, "this thread can't lock " + title_ +
                                    " again: the lock was lost meanwhile; unlock it, and lock it anew"};
      case thread_holds<Lease>::nested::too_deep:
        throw error{std::errc::resource_unavailable_try_again,
                    "this thread has locked " + title_ + " " + std::to_string(thread_holds<Lease>::deepest) +
                        " times without unlocking it"};
    }
  }

  std::string const title_;
  nesting const again_;
  std::shared_ptr<thread_holds<Lease>> const holds_;
  std::atomic<release_result> last_{release_result::released};
};

}  // namespace holdfast::sync
