/// What `holdfast doctor` says, for people and for programs.
#pragma once

#include "doctor_checks.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

[[nodiscard]] bool has_problem(std::vector<finding> const&);

/// Lines, without the last end of line: one for each finding, and why it matters and what to do below those
/// that aren't ok.
[[nodiscard]] std::string report_text(std::vector<finding> const&);

/// One object on one line; see docs/cli-json.md.
[[nodiscard]] std::string report_json(std::string_view server, std::vector<finding> const&);

}  // namespace holdfast::cli
