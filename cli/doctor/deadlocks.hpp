/// `holdfast doctor --deadlocks`.
#pragma once

#include "common/options.hpp"

#include <holdfast/deadlock.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Prints the circles of threads that wait for one another's locks: a line for each, or one object with
/// `json`. Returns the exit code: `unfit` if there are any. Throws holdfast::error.
[[nodiscard]] int report_deadlocks(common_options const& common, bool json_wanted);

/// The same circles as one object on one line; see docs/cli-json.md.
[[nodiscard]] std::string deadlocks_json(std::string_view server, std::vector<deadlock_info> const& all);

}  // namespace holdfast::cli
