/// Reads the command line: the chosen command with its options, or a text that was asked for.
#pragma once

#include "common/command.hpp"

#include <string>

namespace holdfast::cli {

struct arguments {
  std::string text{};  ///< if not empty: print it and exit
  action chosen{};
};

/// Throws failure with exit_code::usage.
[[nodiscard]] arguments read_arguments(int argc, char** argv);

}  // namespace holdfast::cli
