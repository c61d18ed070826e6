/// Several names of one server, some to write, some to read, and permits, acquired and released as one.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::plain {

/// The name of a queue is made of all names and kinds: wire/lock_names.hpp. Each caller of a process has an
/// acquisition of its own, and the server alone says whose turn it is.
extern engine::recipe const mixed;

}  // namespace holdfast::recipes::plain
