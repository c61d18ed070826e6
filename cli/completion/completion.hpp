/// Completion for shells. The scripts are generated from the declared commands and always match them.
#pragma once

#include "common/command_line.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Adds the command; its argument is stored in `shell`.
void add_completion(command_line& line, std::string& shell);

/// The script for `shell`, which is one of the choices of the command, for all commands of `line`.
[[nodiscard]] std::string completion_script(command_line const& line, std::string_view shell);

namespace completion {

/// An option, as the completion scripts need it.
struct option {
  std::vector<std::string> names;  ///< with dashes, short names first
  std::string text;
  std::string value;                 ///< the placeholder of the value; empty: a flag
  std::vector<std::string> choices;  ///< the possible values; empty: any
  bool repeats = false;              ///< may be given several times
};

/// The operand of a command; no command has two.
struct operand {
  std::string name;
  bool is_lock;   ///< a lock that is held or waited for
  bool is_files;  ///< any number of files
  std::vector<std::string> choices;
};

struct command {
  std::string name;
  std::string text;
  std::vector<option> options;
  std::optional<operand> argument;
};

struct model {
  std::vector<option> options;  ///< those that belong to no command
  std::vector<command> commands;
};

/// The placeholder of values that are files.
inline constexpr std::string_view a_file = "FILE";

/// The operand of a command that reads files.
inline constexpr std::string_view some_files = "FILES";
inline constexpr std::string_view reads_files = "judge";

/// The commands whose words after -- are a command line themselves; CLI11 never reads these.
inline constexpr std::string_view runs_a_command = "run";
inline constexpr std::string_view leads_a_command = "lead";

/// The shell command that lists the names of locks, one per line, in limited time.
inline constexpr std::string_view list_locks = "timeout 1 holdfast ls --names";

[[nodiscard]] model model_of(command_line const& line);

/// `text` with each mark replaced. fmt is unsuitable, since shell scripts are full of braces.
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
