/// The exclusive lock of several masters that vote, on the plain wire.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::sync {

extern engine::recipe const quorum;

}  // namespace holdfast::sync
