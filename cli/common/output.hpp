/// Messages of holdfast: all on stderr, one line each, since stdout belongs to the command.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::cli::output {

enum class detail {
  normal,   ///< warnings and errors
  verbose,  ///< also the events of the lock, each line with its time
};

/// Call once, before the first message.
void set_up(detail);

[[nodiscard]] bool verbose();

/// Shown with `verbose` only.
void info(std::string_view message);
/// Always shown: information that the user should know.
void note(std::string_view message);
void error(std::string_view message);

/// For client_options::log.
[[nodiscard]] log_hook hook();

/// The same for a command that tells by itself why its lock was lost: the client's own line about that only
/// with --verbose.
[[nodiscard]] log_hook hook_of_holder();

/// From now on no message waits for the reader of stderr, who may be slow or stopped (a full pipe, ^S). What
/// can't be written at once is kept, up to 64 KiB. For who waits for a lock, or holds it: such a reader must
/// keep neither a command from its start or end, nor the lock from others, nor this process from a signal.
/// main() writes the rest at the end.
void begin_to_keep();
/// Writes what was kept, however long that takes, and keeps no more.
void end_to_keep();
/// Writes of what is kept as much as is possible without waiting. Returns when to try again.
std::chrono::nanoseconds write_kept();

/// Control characters and changes of the writing direction become \xNN: the text stays one line and does not
/// affect a terminal.
[[nodiscard]] std::string one_line(std::string_view text);

/// A name in messages: quoted, and on one line.
[[nodiscard]] std::string quoted(std::string_view name);

}  // namespace holdfast::cli::output
