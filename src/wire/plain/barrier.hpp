/// The barrier on the plain wire. Each arrival of a client that waits has a lock queue of its own, a seat,
/// since all that wait have to be known to the server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const barrier;

/// The name of a seat's lock queue. `number` is unique in the client; `who` says in one line whose it is.
[[nodiscard]] std::string seat_name(std::string_view name, std::uint64_t number, std::string_view who);

}  // namespace holdfast::recipes::plain
