/// The barrier on the plain wire. Each arrival of a client that waits has a lock queue of its own, a seat,
/// since all that wait have to be known to the server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const barrier;

/// Gives up the arrival from a seat, and says which generation it was counted for, if that has opened; 0:
/// none. `after`: the last generation for which an earlier one from that seat was counted.
[[nodiscard]] call time_up(std::string_view seat, std::string_view uuid, std::int64_t after,
                           engine::publishing mode);

/// The name of a seat's lock queue. `number` is unique in the client; `participant` says in one line whose it
/// is.
[[nodiscard]] std::string seat_name(std::string_view name, std::uint64_t number,
                                    std::string_view participant);

}  // namespace holdfast::recipes::plain
