/// The exclusive lock on the plain wire.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::sync {

extern engine::recipe const exclusive;

}  // namespace holdfast::sync
