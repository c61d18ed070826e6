/// The exclusive lock on the plain wire, granted in order of arrival.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const fair;

}  // namespace holdfast::recipes::plain
