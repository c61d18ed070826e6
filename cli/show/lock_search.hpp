/// The search for locks on the chosen wires, for the commands that show locks.
#pragma once

#include "common/command_line.hpp"

#include <holdfast/inspect.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// --wire of these commands: all wires by default, whatever the URL says.
void add_searched_wire(command_options& command, std::string& to);

/// Visits the matching locks on the wires of --wire. Returns a note about what could not be searched, for
/// want of a right; empty: nothing.
[[nodiscard]] std::string find_locks(client& redis, std::string_view pattern, std::string_view wire_option,
                                     std::function<bool(lock_state const&)> const& visit);

/// Throws failure with exit_code::usage where the wire of --wire isn't one of that server's.
void require_wire(lock_on_wires const& name, std::string_view wire_option);

/// The state of a name on the wires of --wire: those on which the name is in use, the holding one first; else
/// the one that describes the key. Never empty. Throws as require_wire().
[[nodiscard]] std::vector<lock_state const*> shown_of(lock_on_wires const& name,
                                                      std::string_view wire_option);

/// The warning about a name that is in use on both wires.
[[nodiscard]] std::string on_both_wires(std::string_view name);

}  // namespace holdfast::cli
