/// The commands: for each of them a function, which declares its options, and says what it does when it is
/// given. It is in cli/commands, or in the command's own folder.
#pragma once

#include "common/command_line.hpp"

#include <functional>
#include <span>

namespace holdfast::cli {

/// Runs the chosen command after all arguments were checked; returns the exit code. Throws failure and
/// holdfast::error.
using action = std::function<int()>;

/// The words after the first `--` on the command line.
using words_after = std::span<char* const>;

// Each function adds its command to `line` and sets `chosen` if the command is given. The options live as
// long as the action.
void add_run(command_line& line, action& chosen, words_after command);
void add_lead(command_line& line, action& chosen, words_after command);
void add_acquire(command_line& line, action& chosen);
void add_hold(command_line& line, action& chosen);
void add_renew(command_line& line, action& chosen);
void add_ls(command_line& line, action& chosen);
void add_inspect(command_line& line, action& chosen);
void add_release(command_line& line, action& chosen);
void add_watch(command_line& line, action& chosen);
void add_leader(command_line& line, action& chosen);
void add_doctor(command_line& line, action& chosen);
void add_judge(command_line& line, action& chosen);
void add_top(command_line& line, action& chosen);
void add_serve(command_line& line, action& chosen);

}  // namespace holdfast::cli
