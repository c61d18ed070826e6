/// The configuration files, for commands that are started without options and without an environment, such as
/// those of cron: $XDG_CONFIG_HOME/holdfast/config (else ~/.config/holdfast/config) and /etc/holdfast/config.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// What one file says. An empty text: the file has no such line.
struct configuration_file {
  std::string path{};
  std::string url{};
  std::string password_file{};  ///< absolute
  std::string label{};
  std::optional<std::chrono::milliseconds> ttl{};
  std::optional<bool> local{};
  std::string unreadable{};  ///< why it can't be read; empty: it was read
};

/// Reads `text` as the file at `path`: lines `key = value`, comments (#) and empty lines. Throws failure with
/// exit_code::usage that names the file, the line and the key, and never shows a URL's password.
[[nodiscard]] configuration_file parse_configuration(std::string const& path, std::string_view text);

/// The files that there are, the user's first: what it says counts more. Read once in a process; a file that
/// shows its password to other users is a warning. Throws failure with exit_code::usage.
[[nodiscard]] std::vector<configuration_file> const& configuration();

/// The first ttl in configuration().
[[nodiscard]] std::optional<std::chrono::milliseconds> configured_ttl();

/// Where configuration() looks, for messages.
inline constexpr std::string_view configuration_places = "/etc/holdfast/config or ~/.config/holdfast/config";

}  // namespace holdfast::cli
