/// The command line, read and checked, and what its commands share in doing so.
#pragma once

#include "command.hpp"

#include <holdfast/options.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::cli {

struct arguments {
  std::string text{};  ///< if not empty: all there is to do is to print it
  action chosen{};
};

/// Throws failure with exit_code::usage.
[[nodiscard]] arguments read_arguments(int argc, char** argv);

/// A duration as it was typed behind `option`. Throws failure with exit_code::usage.
[[nodiscard]] std::chrono::milliseconds duration_of(std::string_view option, std::string const& text);

/// Throws failure with exit_code::usage and `what` unless it is fine.
void require(bool fine, std::string const& what);

/// What was typed behind --wire; automatic for nothing.
[[nodiscard]] wire wire_of(std::string_view text);

/// As much talk as was asked for.
void set_up(common_options const& how);

}  // namespace holdfast::cli
