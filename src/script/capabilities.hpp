/// What one server can do for locks beyond the commands that every server has. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/translation.hpp"
#include "script/module_words.hpp"

namespace holdfast::scripting {

/// How compare-and-delete and compare-and-set are said.
enum class dialect : std::uint8_t {
  none,
  redis,   ///< DELEX k IFEQ v, SET k v IFEQ v: Redis 8.4 and later
  valkey,  ///< DELIFEQ k v, SET k v IFEQ v: Valkey 9.0 and later
  tair,    ///< CAD k v, CAS k v v: the module TairString, and Holdfast's
};

/// "DELEX … IFEQ" and the like; empty for none.
[[nodiscard]] std::string_view name_of(dialect native) noexcept;

struct capabilities {
  dialect native = dialect::none;
  /// Keys can be given a ttl by compare-and-set; not at maxmemory, or without the right.
  bool native_expiry = false;
  std::vector<bool> module{};     ///< of each of module_commands()
  bool scripts = true;            ///< EVAL is there, and allowed
  std::string no_scripts{};       ///< otherwise: the server's words
  std::int64_t connected_us = 0;  ///< the server's clock when the connection was made; 0: unknown

  [[nodiscard]] bool has_module() const noexcept;
};

enum class script_trial : std::uint8_t {
  wanted,    ///< one is called to see whether they are allowed
  needed,    ///< they are called whatever the server says
  unwanted,  ///< none is called
};

/// The commands that tell what a server can do. COMMAND INFO lists what is there, whoever may use it; what
/// the user may not, or what works otherwise than it looks, is found out at its first use.
[[nodiscard]] net::exchange probe_of(script_trial trial);
/// From the replies to these, in order. Refusals count as "no".
[[nodiscard]] capabilities read_capabilities(script_trial trial, std::span<resp::reply const> replies);

}  // namespace holdfast::scripting
