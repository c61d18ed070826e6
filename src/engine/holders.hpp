/// The leases that one client has, by lock queue.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/lease_state.hpp"
#include "engine/shared_holders.hpp"

namespace holdfast::engine {

/// A queue has one lease at a time (lock_queue::holder), or several where its kind allows that: those are
/// here. All under the client's lock.
class holders {
 public:
  /// Adds the first lease of an acquisition of a kind that allows several. When it throws nothing has
  /// changed.
  void open(lease_state& first, time_point now);
  /// A lease that shares the newest acquisition of the queue; null: there is none to be shared.
  [[nodiscard]] lease_state_ptr join(lock_queue& queue, effective_options_ptr const& options, time_point now);
  /// From here on for_each_of(thread) finds the lease. Without memory it doesn't, and nothing else
  /// changes.
  void give_to(std::uint32_t thread, lease_state& lease) noexcept;
  /// Removes a lease. True: it was the last of its acquisition.
  bool leave(lease_state& lease) noexcept;

  /// Whether the queue has a lease.
  [[nodiscard]] bool has_any(lock_queue const& queue) const noexcept {
    return queue.holder != nullptr || shared_.contains(&queue);
  }
  /// Whether that acquisition is held by this process.
  [[nodiscard]] bool has(lock_queue const& queue, std::uint64_t number) const noexcept;
  /// The same, for queues of kinds that allow several leases.
  [[nodiscard]] bool has_shared(std::uint64_t number) const noexcept;
  /// Any lease of that acquisition; null: there is none.
  [[nodiscard]] lease_state* find(lock_queue const& queue, std::uint64_t number) noexcept;
  /// Whether that thread has any.
  [[nodiscard]] bool any_of(std::uint32_t thread) const noexcept {
    auto const first = by_thread_.lower_bound({thread, nullptr});
    return first != by_thread_.end() && first->first == thread;
  }
  /// Calls `f` with each lease of that thread.
  template <class F>
  void for_each_of(std::uint32_t thread, F f) const {
    for (auto at = by_thread_.lower_bound({thread, nullptr}); at != by_thread_.end() && at->first == thread;
         ++at)
      f(*at->second);
  }
  /// A lease of a kind that allows several; null: there are none.
  [[nodiscard]] lease_state* any_shared() const noexcept;

  /// Calls `f`, which may remove the lease, for each lease of an acquisition of a kind that allows several.
  template <class F>
  void for_each_sharer(lock_queue const& queue, std::uint64_t number, F f) noexcept {
    if (auto const known = shared_.find(&queue); known != shared_.end())
      known->second.for_each_of(number, std::move(f));
  }
  /// Calls `f` with each queue of such a kind that has that acquisition.
  template <class F>
  void for_each_sharing(std::uint64_t number, F f) const {
    for (auto const& [queue, leases] : shared_) {
      if (leases.contains(number)) f(leases.any().queue());
    }
  }

 private:
  std::unordered_map<lock_queue const*, shared_holders> shared_;      ///< none of them is empty
  std::set<std::pair<std::uint32_t, lease_state const*>> by_thread_;  ///< see lease_state::thread
};

}  // namespace holdfast::engine
