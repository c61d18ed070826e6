/// Calls on a read-write lock beside those of the recipes `reader` and `writer`.
#pragma once

#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::recipes::redisson {

/// Turns the writer into a reader. The reply is that of a release; the request may be sent twice.
[[nodiscard]] call downgrade(engine::owned lease, engine::milliseconds ttl, engine::publishing publish);

/// Takes the lock away from all its holders, or from the holder whose field (`<owner>`, or `<owner>:write`)
/// is still there; of several readers only from that reader, with all its holds. Reply: 1: done; 0: the lock
/// was gone; -1: the key is no read-write lock, or doesn't have that field.
[[nodiscard]] call force(std::string_view name, engine::publishing publish, std::string_view field = {});

}  // namespace holdfast::recipes::redisson
