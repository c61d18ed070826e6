/// Reads and checks the command line. Helpers that the commands share.
#pragma once

#include "command.hpp"

#include <holdfast/options.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::cli {

struct arguments {
  std::string text{};  ///< if not empty: print it and exit
  action chosen{};
};

/// Throws failure with exit_code::usage.
[[nodiscard]] arguments read_arguments(int argc, char** argv);

/// Parses the duration given for `option`. Throws failure with exit_code::usage.
[[nodiscard]] std::chrono::milliseconds duration_of(std::string_view option, std::string const& text);

/// Throws failure with exit_code::usage and `message` unless `fine`.
void require(bool fine, std::string const& message);

/// Parses the value of --wire; an empty text means automatic.
[[nodiscard]] wire wire_of(std::string_view text);

/// Sets the verbosity of the output.
void set_up(common_options const& options);

}  // namespace holdfast::cli
