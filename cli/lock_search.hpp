/// On which wires locks are looked at, and finding them, for the commands that show any.
#pragma once

#include "command_line.hpp"

#include <holdfast/inspect.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// --wire, as these commands have it: all unless it narrows, whatever the URL says.
void add_searched_wire(command_options& command, std::string& to);

/// The locks that match, on the wires that were typed. Says what was left out, for want of a right; empty:
/// nothing.
[[nodiscard]] std::string find_locks(client& redis, std::string_view pattern, std::string_view on,
                                     std::function<bool(lock_state const&)> const& f);

/// What was typed leaves of a name as both wires have it: those on which it is in use, the one that holds it
/// first, or else the one that says what the key is. Never none.
[[nodiscard]] std::vector<lock_state const*> shown_of(lock_on_wires const& name, std::string_view on);

/// What is to be known of a name that is in use on both wires.
[[nodiscard]] std::string on_both_wires(std::string_view name);

}  // namespace holdfast::cli
