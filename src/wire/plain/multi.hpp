/// Several exclusive locks of one server, acquired and released as one.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

/// The name of a queue is made of all names: wire/lock_names.hpp.
extern engine::recipe const multi;

}  // namespace holdfast::recipes::plain
