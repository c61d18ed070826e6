/// The exclusive lock by majority vote of several masters, on the plain wire.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const quorum;

}  // namespace holdfast::recipes::plain
