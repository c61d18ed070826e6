/// The exclusive lock on the plain wire, taken in the order of asking.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::sync {

extern engine::recipe const fair;

}  // namespace holdfast::sync
