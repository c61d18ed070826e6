/// Locks as JSON (docs/cli-json.md), for the commands with --json.
#pragma once

#include "show/json.hpp"

#include <holdfast/inspect.hpp>

#include <string_view>

namespace holdfast::cli {

/// null: no process.
[[nodiscard]] json to_json(process_info const&);
[[nodiscard]] json to_json(hold_info const&);
/// Does not include the queue.
[[nodiscard]] json to_json(lock_state const&);
[[nodiscard]] json with_queue(lock_state const&);
/// The result of a release by force.
[[nodiscard]] std::string_view json_word(force_result result) noexcept;

}  // namespace holdfast::cli
