/// Options that several commands have, and the checks of their values.
#pragma once

#include "common/command_line.hpp"

#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

inline constexpr std::chrono::milliseconds shortest_ttl{10};
inline constexpr std::size_t longest_label = 200;  ///< client_options::label

/// Options of all commands.
struct common_options {
  std::string url{};  ///< empty: chosen by server/choice.hpp
  std::string password_file{};
  bool local = false;  ///< the private server
  bool verbose = false;
};

/// --url, --password-file, --local and --verbose.
void add_common(command_options& command, common_options& to);

// Options of many commands: --json and the name of a lock.
void add_json(command_options& command, bool& to);
void add_name(command_options& command, std::string& to);

/// --wire. `choices`: some of plain, redisson and all, separated by |; other values are refused. Empty: not
/// given.
void add_wire(command_options& command, std::string& to, std::string const& choices, std::string const& text);

/// Sets the verbosity of the output.
void set_up(common_options const& options);

/// Parses the value of --wire; an empty text means automatic.
[[nodiscard]] wire wire_of(std::string_view text);

/// Parses the duration given for `option`. Throws failure with exit_code::usage.
[[nodiscard]] std::chrono::milliseconds duration_of(std::string_view option, std::string const& text);

/// The same for a ttl, which must be long enough.
[[nodiscard]] std::chrono::milliseconds ttl_of(std::string_view option, std::string const& text);

/// Returns the label. Throws failure with exit_code::usage for one that is too long.
[[nodiscard]] std::string label_of(std::string_view option, std::string text);

/// Throws failure with exit_code::usage and `message` unless `fine`.
void require(bool fine, std::string const& message);

}  // namespace holdfast::cli
