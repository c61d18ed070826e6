/// The commands of the module holdfast, which serve scripts: see docs/module.md. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/pipeline.hpp"

namespace holdfast::scripting {

struct module_command {
  enum class length : std::uint8_t {
    full,   ///< the number of keys, the keys and the arguments of the script
    brief,  ///< the lock in place of number and keys; no arguments at the end that have their usual values
  };

  std::string_view script;
  std::string_view command;
  length words = length::full;
  /// brief: what the last arguments are when they are left out, each encoded.
  std::span<std::string_view const> usual{};
  /// Some calls it answers with the error BYSCRIPT, having done nothing: they are for the script.
  bool partial = false;
};

/// Of several for one script the first that a server has is the best.
[[nodiscard]] std::span<module_command const> module_commands() noexcept;

/// Appends a request that calls its script, as this command.
void append_as_command(std::string& out, net::request const& request, module_command const& command);

}  // namespace holdfast::scripting
