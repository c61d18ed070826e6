/// The std shape of a lock: which thread holds it, and what.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::sync {

/// The holds of one lock object, by thread. A thread whose lease was lost may learn it only when it unlocks,
/// while the next one of this process holds already: such a one is kept apart until then.
template <class Lease>
class thread_holds {
 public:
  /// Does this thread hold it?
  [[nodiscard]] bool mine() noexcept {
    auto const me = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == me) return true;
    if (!any_overtaken_.load(std::memory_order_relaxed)) return false;
    std::lock_guard const alone{guard_};
    return find_overtaken(me) != overtaken_.end();
  }

  /// This thread holds it from now on.
  void keep(Lease held) {
    std::lock_guard const alone{guard_};
    if (now_.by != std::thread::id{}) {
      overtaken_.push_back(std::move(now_));
      any_overtaken_.store(true, std::memory_order_relaxed);
    }
    now_ = {std::this_thread::get_id(), std::move(held)};
    owner_.store(now_.by, std::memory_order_relaxed);
  }

  /// What this thread holds, and doesn't any longer; empty when it holds nothing.
  [[nodiscard]] std::optional<Lease> take() noexcept {
    auto const me = std::this_thread::get_id();
    std::lock_guard const alone{guard_};
    if (now_.by == me) {
      owner_.store({}, std::memory_order_relaxed);
      now_.by = {};
      return std::move(now_.held);
    }
    auto const lost = find_overtaken(me);
    if (lost == overtaken_.end()) return std::nullopt;
    auto held = std::move(lost->held);
    overtaken_.erase(lost);
    any_overtaken_.store(!overtaken_.empty(), std::memory_order_relaxed);
    return held;
  }

  /// Lets go of all, for the end of the lock object.
  void clear() noexcept {
    now_ = {};
    overtaken_.clear();
  }

 private:
  struct hold {
    std::thread::id by{};
    Lease held{};
  };

  typename std::vector<hold>::iterator find_overtaken(std::thread::id by) noexcept {
    return std::find_if(overtaken_.begin(), overtaken_.end(), [by](hold const& one) { return one.by == by; });
  }

  std::mutex guard_;  ///< of the next two
  hold now_{};
  std::vector<hold> overtaken_{};         ///< lost, and not unlocked yet
  std::atomic<std::thread::id> owner_{};  ///< now_.by
  std::atomic<bool> any_overtaken_{false};
};

}  // namespace holdfast::sync
