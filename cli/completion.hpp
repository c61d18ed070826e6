/// Completion for the shells: scripts made from what the commands declare, so that they can't drift from it.
#pragma once

#include "command_line.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Adds the command, which reads its one argument into `shell`.
void add_completion(command_line& line, std::string& shell);

/// The script for `shell`, one of those that the command takes, for all commands of `line`.
[[nodiscard]] std::string completion_script(command_line const& line, std::string_view shell);

namespace completion {

/// What a shell has to know of an option.
struct option {
  std::vector<std::string> names;  ///< with their dashes, short ones first
  std::string text;
  std::string value;                 ///< what it takes, as the help calls it; empty: a flag
  std::vector<std::string> choices;  ///< the words it takes, if there are only these
};

/// The argument that isn't an option; no command has two.
struct operand {
  std::string name;
  bool is_lock;  ///< a lock that is held or waited for
  std::vector<std::string> choices;
};

struct command {
  std::string name;
  std::string text;
  std::vector<option> options;
  std::optional<operand> argument;
};

struct model {
  std::vector<option> options;  ///< those without a command
  std::vector<command> commands;
};

/// The command whose words after -- are a command line of their own; CLI11 never sees those.
inline constexpr std::string_view runs_a_command = "run";

/// The text for the shells that lists the names of locks, one per line, and never takes long.
inline constexpr std::string_view list_locks = "timeout 1 holdfast ls --names";

[[nodiscard]] model model_of(command_line const& line);

/// `text` with each mark replaced; not fmt's, since shells are full of braces.
[[nodiscard]] std::string filled(std::string_view text,
                                 std::initializer_list<std::pair<std::string_view, std::string_view>> marks);

/// In single quotes, for all shells but fish.
[[nodiscard]] std::string single_quoted(std::string_view text);

/// The names of all options that take a value.
[[nodiscard]] std::vector<std::string> names_with_value(std::vector<option> const& options);

[[nodiscard]] std::string bash_script(model const&);
[[nodiscard]] std::string zsh_script(model const&);
[[nodiscard]] std::string fish_script(model const&);

}  // namespace completion
}  // namespace holdfast::cli
