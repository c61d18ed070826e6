/// Durations in the syntax of the command line: "200ms", "5s", "1.5s", "1m30s", "5min", "2h", "0".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// Numbers with units d, h, m (or min), s, ms, the larger unit first; a number alone is seconds. A number may
/// have decimals, if the whole is a number of milliseconds. Throws
/// std::invalid_argument, whose text names the error and the allowed syntax.
[[nodiscard]] std::chrono::milliseconds parse_duration(std::string_view text);

/// For messages: "1m30s", "200ms"; at most the largest two units.
[[nodiscard]] std::string to_string(std::chrono::milliseconds duration);

}  // namespace holdfast::cli
