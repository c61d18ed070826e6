/// How a command of holdfast is added: one file per command, which declares its options and does its work.
#pragma once

#include "command_line.hpp"

#include <functional>
#include <span>
#include <string>

namespace holdfast::cli {

/// What the chosen command does, when all arguments are read and found right; returns the exit code. Throws
/// failure and holdfast::error.
using action = std::function<int()>;

/// What stands after the first `--` on the command line.
using words_after = std::span<char* const>;

// Each adds its command to `line`; if that is given, `chosen` is what it does. The options live as long as
// the action.
void add_run(command_line& line, action& chosen, words_after command);
void add_ls(command_line& line, action& chosen);
void add_inspect(command_line& line, action& chosen);
void add_release(command_line& line, action& chosen);
void add_watch(command_line& line, action& chosen);
void add_doctor(command_line& line, action& chosen);
void add_top(command_line& line, action& chosen);

/// Options that all commands have in common.
struct common_options {
  std::string url{};  ///< empty: choose, see server_choice.hpp
  bool verbose = false;
};

/// --url and --verbose.
void add_common(command_options& command, common_options& to);

// What many have: --json, and the name of a lock.
void add_json(command_options& command, bool& to);
void add_name(command_options& command, std::string& to);

/// --wire, with some of plain, redisson and all as `choices`, parted by |; anything else is refused.
/// Empty: it wasn't given.
void add_wire(command_options& command, std::string& to, std::string const& choices, std::string const& text);

}  // namespace holdfast::cli
