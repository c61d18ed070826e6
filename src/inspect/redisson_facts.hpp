/// What the facts about an object of Redisson's mean. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::inspection {

/// Completes a state that has its type, value and ttl, by the words that scripts/include/redisson_facts.lua
/// says. What isn't in Redisson's format leaves it as it is. `now`: the server's clock.
void read_facts(lock_state& state, resp::reply const& facts, std::chrono::microseconds now);

}  // namespace holdfast::inspection
