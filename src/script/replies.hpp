/// What is read out of replies in more than one place. No I/O.
#pragma once

#include <cstdint>

#include "resp/reply.hpp"

namespace holdfast::scripting {

/// The slot has moved, or is on its way: another node of the cluster does it.
[[nodiscard]] bool leads_elsewhere(resp::reply const& reply) noexcept;
/// A reply to TIME, in microseconds.
[[nodiscard]] std::int64_t microseconds_in(resp::reply const& time) noexcept;

}  // namespace holdfast::scripting
