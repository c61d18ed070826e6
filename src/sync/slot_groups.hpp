/// Locks of several clients or hash slots, acquired together: the names of one slot are a group, acquired in
/// one step.
#pragma once

#include <holdfast/multi_name.hpp>

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.hpp"
#include "sync/pinned_queue.hpp"

namespace holdfast::sync {

/// The names of one client; for a client of a cluster, of one slot. A queue of one name is the queue of a
/// mutex (or of its readers, or permits), so the two share the leases of this process.
class slot_group {
 public:
  slot_group(std::shared_ptr<engine::core> core, std::span<multi_name const> sorted,
             lock_options const& options);

  [[nodiscard]] engine::core& core() const noexcept { return *pinned_.core(); }
  [[nodiscard]] engine::lock_queue_ptr const& queue() const noexcept { return pinned_.queue(); }
  [[nodiscard]] engine::effective_options_ptr const& options() const noexcept { return options_; }
  /// The same without `keep`, as acquired: until all groups are, a lease may have to be given back.
  [[nodiscard]] engine::effective_options_ptr const& options_to_acquire() const noexcept {
    return options_to_acquire_;
  }
  /// The permits to acquire, if the group is one name for its permits; otherwise 1.
  [[nodiscard]] int amount() const noexcept { return amount_; }

 private:
  slot_group(std::shared_ptr<engine::core> core, std::span<multi_name const> sorted,
             engine::recipe const& kind, lock_options const& options);

  pinned_queue pinned_;
  engine::effective_options_ptr options_to_acquire_;
  engine::effective_options_ptr options_;
  int amount_;
};

/// Constant after construction. Acquisitions under way keep it.
using slot_groups = std::shared_ptr<std::vector<slot_group> const>;

/// A lease for each group, in the order of the groups; none when a group stayed busy. Throws as
/// engine::lock_calls::acquire. They still have to be handed out: see hand_out().
[[nodiscard]] std::vector<lease> take_together(slot_groups const& all, engine::wait_limit wait,
                                               std::stop_token const& stop);

using taken_handler = callback<void(std::vector<lease>, std::exception_ptr)>;

void async_take_together(slot_groups all, engine::wait_limit wait, std::stop_token stop, taken_handler done);

/// The caller gets the leases: from here on lock_options::keep has its effect.
void hand_out(slot_groups const& all, std::vector<lease> const& leases) noexcept;

}  // namespace holdfast::sync
