/// The latch on the plain wire.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const latch;

}  // namespace holdfast::recipes::plain
