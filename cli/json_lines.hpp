/// What the commands print with --json (docs/cli-json.md): an object on one line, in which what is no UTF-8
/// became U+FFFD. nlohmann's library is in json_lines.cpp alone, since it takes long to compile.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
enum class severity : std::uint8_t;
struct event;
struct finding;
struct top_row;
}  // namespace holdfast::cli

namespace holdfast::cli::json_line {

/// Without its queue.
[[nodiscard]] std::string of_lock(lock_state const&);
/// `other`: the same name on the other wire, and a `warning` about that; null and empty for none.
[[nodiscard]] std::string of_lock_and_queue(lock_state const&, lock_state const* other,
                                            std::string_view warning);
[[nodiscard]] std::string of_top(std::string_view server, std::vector<top_row> const&);

/// `at`: the time, as people write it.
[[nodiscard]] std::string of_event(event const&, std::string_view at, lock_state const& now);
/// `name` is the lock that can't be looked at.
[[nodiscard]] std::string of_unreachable(std::string_view at, std::string_view name, std::string_view error);

[[nodiscard]] std::string of_release(lock_state const& seen, std::string_view result);

/// How many findings of each severity, the worst first.
using severity_counts = std::vector<std::pair<severity, std::size_t>>;
[[nodiscard]] std::string of_findings(std::string_view server, severity_counts const&,
                                      std::vector<finding> const&);

}  // namespace holdfast::cli::json_line
