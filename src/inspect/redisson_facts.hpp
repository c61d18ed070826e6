/// Interprets the facts about an object of Redisson's. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <string>

#include "resp/reply.hpp"

namespace holdfast::inspection {

/// Completes the state on Redisson's wire, which has its name and type already, from the facts that
/// scripts/include/redisson_facts.lua replies. An object that isn't in Redisson's format leaves it free.
/// `now`: the server's clock. Returns what the server refused to show; empty: nothing.
std::string read_facts(lock_state& state, resp::reply const& facts, std::chrono::microseconds now);

}  // namespace holdfast::inspection
