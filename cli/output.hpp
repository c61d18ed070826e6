/// What holdfast says: everything on stderr, one line each, since stdout belongs to the command.
#pragma once

#include <holdfast/options.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli::output {

enum class detail {
  normal,   ///< warnings and errors
  verbose,  ///< also what happens to the lock, each line with its time
};

/// Once, before the first line.
void set_up(detail);

/// Only with `verbose`.
void tell(std::string_view message);
/// Always: something that the user should know.
void note(std::string_view message);
void error(std::string_view message);

/// For client_options::log.
[[nodiscard]] log_hook hook();

/// Control characters, and what changes the direction of writing, as \xNN: so it stays one line, does nothing
/// to a terminal, and reads as it is.
[[nodiscard]] std::string one_line(std::string_view text);

/// A name as it stands in messages: quoted, and on one line.
[[nodiscard]] std::string quoted(std::string_view name);

}  // namespace holdfast::cli::output
