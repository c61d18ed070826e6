/// What commands print for others to read: on stdout, and with an end when nobody reads any more.
#pragma once

#include <exception>
#include <string_view>

namespace holdfast::cli {

/// Whoever read stdout has gone, and SIGPIPE is ignored: for main(), which ends without a word.
class output_closed : public std::exception {
 public:
  [[nodiscard]] char const* what() const noexcept override { return "nobody reads the output"; }
};

/// First thing in main(): a standard stream that the caller closed stays closed for us and for what we run,
/// but its number is taken, so that no text meant for it ends in a connection.
void occupy_closed_streams();

/// One line, at once. Throws output_closed, and failure when it can't be written for another reason.
void print_line(std::string_view text);

/// For those who print seldom: throws output_closed when the reader has gone.
void check_reader();

}  // namespace holdfast::cli
