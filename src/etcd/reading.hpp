/// What the keys of a lock say. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "etcd/messages.hpp"
#include "etcd/viewer.hpp"

namespace holdfast::etcd {

/// Who leads an election whose oldest key that is. Its lease is unknown.
[[nodiscard]] viewer::leading read_first(key_value const& first);

/// The state of a lock whose oldest keys these are, and `size` the key that says how many permits there are,
/// if there is one. Times are unknown.
[[nodiscard]] lock_state read_queue(std::string_view prefix, std::string const& name, found const& size,
                                    found keys, std::size_t queue_entries);

/// Those of all that hold and wait; who has counted a latch down is under none. Here, as it is also called by
/// programs without the component.
[[nodiscard]] inline std::set<std::string> leases_of(std::span<lock_state const> states) {
  std::set<std::string> leases;
  for (auto const& state : states) {
    for (auto const& each : state.holders) leases.insert(each.lease);
    for (auto const& each : state.queue) leases.insert(each.lease);
  }
  leases.erase(std::string{});
  return leases;
}

}  // namespace holdfast::etcd
