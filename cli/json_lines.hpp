/// The output of the commands with --json (docs/cli-json.md): one object per line; invalid UTF-8 becomes
/// U+FFFD. nlohmann's library is included by json_lines.cpp only, since it takes long to compile.
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

/// Does not include the queue.
[[nodiscard]] std::string of_lock(lock_state const&);
/// `other`: the lock of the same name on the other wire; null: none. `warning`: about that; empty: none.
[[nodiscard]] std::string of_lock_and_queue(lock_state const&, lock_state const* other,
                                            std::string_view warning);
[[nodiscard]] std::string of_top(std::string_view server, std::vector<top_row> const&);

/// `timestamp`: the time as text.
[[nodiscard]] std::string of_event(event const&, std::string_view timestamp, lock_state const& now);
/// `name`: the lock that can't be looked at.
[[nodiscard]] std::string of_unreachable(std::string_view timestamp, std::string_view name,
                                         std::string_view error);

[[nodiscard]] std::string of_release(lock_state const& seen, std::string_view result);

/// The number of findings of each severity, the most severe first.
using severity_counts = std::vector<std::pair<severity, std::size_t>>;
[[nodiscard]] std::string of_findings(std::string_view server, severity_counts const&,
                                      std::vector<finding> const&);

}  // namespace holdfast::cli::json_line
