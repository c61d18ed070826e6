/// The read-write lock on the plain wire. Its writers take the exclusive lock of the name.
#pragma once

#include <chrono>

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const reader;
extern engine::recipe const reader_first;  ///< doesn't wait for writers that wait
extern engine::recipe const writer_first;  ///< as `fair`, but ahead of all readers that wait

extern engine::recipe const upgradable;  ///< a reader with the upgrade lease, of which there is one at a time
/// The writer that it becomes (acquire_request::in_place_of), once the other readers have gone.
extern engine::recipe const upgrader;

/// Added to the time that a caller has waited, if it goes first: years, so more than any other caller has
/// waited. Half of the server's clock, so that tickets stay positive.
constexpr std::chrono::microseconds head_start{1'000'000'000'000'000 / 2};

/// Turns the writer into a reader. The reply is that of a release; the request may be sent twice.
[[nodiscard]] call downgrade(engine::owned lease, engine::milliseconds ttl, engine::publishing publish);
/// The same, into one that has the upgrade lease.
[[nodiscard]] call downgrade_to_upgrade(engine::owned lease, engine::milliseconds ttl,
                                        engine::publishing publish);
/// Turns the upgrade lease into a reader that isn't to write, so another caller may have it. Otherwise as
/// `downgrade`.
[[nodiscard]] call keep_reading(engine::owned lease, engine::milliseconds ttl, engine::publishing publish);

}  // namespace holdfast::recipes::plain
