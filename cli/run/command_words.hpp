/// The command under a lock, and what is done with it: options of `run` and `lead`.
#pragma once

#include "common/command.hpp"
#include "run/loss_watch.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// --command as given, and the words that run it.
struct command_words {
  std::optional<std::string> shell;
  std::array<char*, 3> shell_words{};
};

/// The words after --, or those that run the text of --command. `example`: how to write it, without
/// "holdfast". Throws failure with exit_code::usage.
[[nodiscard]] words_after command_of(command_words& from, words_after words, std::string_view example);

/// --on-lost. `allowed`: its values, for the message. Throws failure with exit_code::usage for any that isn't
/// in there.
[[nodiscard]] on_lost policy_of(std::string const& text, std::string_view allowed);

/// --max-hold; 0: it wasn't given.
[[nodiscard]] std::chrono::milliseconds max_hold_of(std::optional<std::string> const& text);

}  // namespace holdfast::cli
