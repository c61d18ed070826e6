/// The options of `run` for names that are taken together with NAME.
#pragma once

#include "common/command_line.hpp"
#include "run/run_options.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The values as given.
struct with_words {
  std::vector<std::string> alone{};
  std::vector<std::string> shared{};
  std::vector<std::string> slots{};  ///< "N:NAME" each
};

void add_with(command_options& run, with_words& to);

/// Throws failure with exit_code::usage.
[[nodiscard]] std::vector<run_name> with_of(with_words const& from);

/// Refuses what doesn't go with several names, and names that are given twice.
void check_with(run_options const& options);

/// `number`, of `option`. Throws failure with exit_code::usage for less than one slot.
[[nodiscard]] std::int64_t checked_slots(std::string_view option, std::int64_t number);

}  // namespace holdfast::cli
