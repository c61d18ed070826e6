/// The options that say how often a job may run.
#pragma once

#include "common/command_line.hpp"
#include "run/due.hpp"

#include <optional>
#include <string>

namespace holdfast::cli {

/// The values as given.
struct limit_words {
  std::optional<std::string> once_per{};
  std::optional<std::string> at_most_every{};
  std::optional<std::string> offset{};
  std::optional<std::string> slack{};
  bool utc = false;
  bool retry_failed = false;
};

void add_limit(command_options& run, limit_words& to);

/// The option that sets a limit; empty: none is given.
[[nodiscard]] std::string limit_option(limit_words const& from);

/// Nullopt: the job may run as often as it is started. Throws failure with exit_code::usage.
[[nodiscard]] std::optional<run_limit> limit_of(limit_words const& from);

}  // namespace holdfast::cli
