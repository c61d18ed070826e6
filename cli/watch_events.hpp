/// What happened to a lock between two looks at it. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::cli {

enum class happening : std::uint8_t {
  seen,            ///< the first look
  acquired,        ///< it was free, and somebody holds it
  released,        ///< it is free: given back, or deleted
  expired,         ///< it is free: its ttl was over
  handed_over,     ///< another process holds it now
  passed_on,       ///< another acquisition of the same process holds it now
  identified,      ///< the same holder, who has left its record by now
  held_meanwhile,  ///< it is free as before, but somebody had it for a moment
  waiting,         ///< only the number of those that wait has changed
  became,          ///< the key is of another kind now: foreign, or no lock
  joined,          ///< of several that hold it: one more
  left,            ///< of several that hold it: one less, by itself or because its time was over
  counted,         ///< its numbers have changed: how often it is held, or how many are left
};
[[nodiscard]] std::string_view to_string(happening) noexcept;

struct event {
  happening what = happening::seen;
  process_info before{};  ///< who held it at the look before
  hold_info who{};        ///< joined, left: the one
};

/// In the order in which they must have happened. `between`: from before the first look to after the second.
[[nodiscard]] std::vector<event> changes(lock_state const& before, lock_state const& now,
                                         std::chrono::nanoseconds between);

}  // namespace holdfast::cli
