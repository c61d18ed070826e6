/// `holdfast doctor --deadlocks`.
#pragma once

#include "common/options.hpp"

namespace holdfast::cli {

/// Prints the circles of threads that wait for one another's locks: a line for each, or one object with
/// `json`. Returns the exit code: `unfit` if there are any. Throws holdfast::error.
[[nodiscard]] int report_deadlocks(common_options const& common, bool json_wanted);

}  // namespace holdfast::cli
