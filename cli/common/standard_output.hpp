/// Output of the commands on stdout; ends when its reader has gone.
#pragma once

#include <exception>
#include <string_view>

namespace holdfast::cli {

/// The reader of stdout has gone, and SIGPIPE is ignored. main() then exits without a message.
class output_closed : public std::exception {
 public:
  [[nodiscard]] char const* what() const noexcept override { return "nobody reads the output"; }
};

/// Call first in main(). A standard stream that is closed stays closed for us and for the command, but its
/// number is occupied, so that no output for it goes into a connection.
void occupy_closed_streams();

/// Whether stdout takes a short line at once, or an error is due.
[[nodiscard]] bool stdout_takes_a_line();

/// Prints a line and flushes. Throws output_closed, and failure for other errors.
void print_line(std::string_view text);

/// For commands that print seldom: throws output_closed when the reader has gone.
void check_reader();

}  // namespace holdfast::cli
