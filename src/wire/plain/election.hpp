/// An election on the plain wire: the fair lock, and beside it what its holder says of itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

/// The lock is that of `fair`; what ends a hold ends the value, too.
extern engine::recipe const election;

/// The requests beside those for the lock. Their replies: see the scripts.
[[nodiscard]] call publish(engine::owned lease, std::int64_t term, std::string_view value,
                           engine::milliseconds ttl, engine::publishing mode);
[[nodiscard]] call read_leader(std::string_view name);
[[nodiscard]] call nominate(engine::owned lease, std::string_view candidate, engine::publishing mode);

}  // namespace holdfast::recipes::plain
