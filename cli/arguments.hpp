/// The command line, read and checked.
#pragma once

#include "output.hpp"
#include "run.hpp"

#include <string>

namespace holdfast::cli {

struct arguments {
  std::string text;  ///< if not empty: all there is to do is to print it
  run_options run;
  output::detail how_much = output::detail::normal;
};

/// Throws failure with exit_code::usage.
[[nodiscard]] arguments read_arguments(int argc, char** argv);

}  // namespace holdfast::cli
