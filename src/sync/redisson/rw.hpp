/// What can be asked of a read-write lock besides what the recipes `reader` and `writer` ask.
#pragma once

#include <string_view>

#include "engine/recipe.hpp"

namespace holdfast::sync::redisson {

/// Turns the one who writes into one who reads. The reply is that of a release; the request may be sent
/// twice.
[[nodiscard]] call downgrade(engine::owned what, engine::milliseconds ttl, engine::publishing publish);

/// Takes the lock from whoever has it: all of them, or the one whose field (`<owner>`, or `<owner>:write`)
/// still is there; of several readers only that one, with all its holds. Reply: 1 done; 0 the lock was gone;
/// -1 it is no read-write lock, or hasn't that field.
[[nodiscard]] call force(std::string_view name, engine::publishing publish, std::string_view field = {});

}  // namespace holdfast::sync::redisson
