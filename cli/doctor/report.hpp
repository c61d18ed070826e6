/// The output of `holdfast doctor`, as text and as JSON.
#pragma once

#include "doctor/checks.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

[[nodiscard]] bool has_problem(std::vector<finding> const&);

/// Lines without the last newline: one for each finding, followed by the explanation and the remedy unless it
/// is ok.
[[nodiscard]] std::string report_text(std::vector<finding> const&);

/// One object on one line; see docs/cli-json.md.
[[nodiscard]] std::string report_json(std::string_view server, std::vector<finding> const&);

}  // namespace holdfast::cli
