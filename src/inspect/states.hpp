/// Reads what a look at locks replies. No I/O.
#pragma once

#include <holdfast/inspect.hpp>

#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::inspection {

/// Reads the reply to look_at(). Processes have only their owner ids.
[[nodiscard]] lock_on_wires read_states(std::string_view name, resp::reply const& reply);

}  // namespace holdfast::inspection
