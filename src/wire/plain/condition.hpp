/// The condition of a lock on the plain wire. Each waiter has a lock queue of its own, a seat, and the
/// owner id of the lease that it gave back to wait.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

/// Waits: `begin_to_wait` comes first.
extern engine::recipe const condition;

/// Gives the lock back, and waits from the same moment on. Replies as a release.
[[nodiscard]] call begin_to_wait(engine::owned lease, engine::release_policy policy);

/// What becomes of a notification that a waiter hasn't heard when it leaves.
enum class leaving : std::uint8_t {
  asks,         ///< the waiter hears it from the reply: 0 if it waited until then
  will_ask,     ///< the same by another request, and nothing by this one
  passes_on,    ///< the next waiter is notified
  may_be_told,  ///< the same, also if a reply has told the waiter, which came too late or was lost
};
[[nodiscard]] call leave(engine::owned lease, leaving why, engine::publishing mode);

/// The name of a waiter's lock queue. `number`: of its lease.
[[nodiscard]] std::string seat_of_waiter(std::string_view name, std::uint64_t number);

}  // namespace holdfast::recipes::plain
