/// Finding locks, for the commands that show many.
#pragma once

#include "command_line.hpp"

#include <holdfast/inspect.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// --wire, as these commands have it.
void add_searched_wire(command_options& command, std::string& to);

/// The locks that match, on the wire that was typed: all means one after the other.
void find_locks(client& redis, std::string_view pattern, std::string_view on,
                std::function<bool(lock_state const&)> const& f);

}  // namespace holdfast::cli
