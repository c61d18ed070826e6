/// The changes of a lock between two looks. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::cli {

enum class happening : std::uint8_t {
  seen,            ///< the state at the first look
  acquired,        ///< it was free, and is held now
  released,        ///< it is free: released or deleted
  expired,         ///< it is free: its ttl was over
  handed_over,     ///< another process holds it now
  passed_on,       ///< another acquisition of the same process holds it now
  identified,      ///< the same holder, which has left its record by now
  held_meanwhile,  ///< it is free as before, but was held in between
  waiting,         ///< only the number of waiting processes has changed
  became,          ///< the kind of the key has changed: foreign, or no lock
  joined,          ///< one of several holders was added
  left,            ///< one of several holders has left or expired
  counted,         ///< its numbers have changed: how often it is held, or how many are left
};
[[nodiscard]] std::string_view to_string(happening) noexcept;

struct event {
  happening kind = happening::seen;
  process_info before{};  ///< the holder at the previous look
  hold_info hold{};       ///< joined, left: the hold that changed
};

/// In the order in which they must have happened. `between`: the time from before the first look until after
/// the second.
[[nodiscard]] std::vector<event> changes(lock_state const& before, lock_state const& now,
                                         std::chrono::nanoseconds between);

}  // namespace holdfast::cli
