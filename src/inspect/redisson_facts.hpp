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

/// The id of a permit as it is shown: 32 hexadecimal digits for the 16 bytes; empty for anything else.
[[nodiscard]] std::string permit_id(std::string_view bytes);
/// The way back: empty for what isn't 32 hexadecimal digits.
[[nodiscard]] std::string permit_bytes(std::string_view id);

}  // namespace holdfast::inspection
