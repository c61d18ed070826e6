/// The options of the commands that take a lock: `run`, `acquire` and `hold`.
#pragma once

#include "common/command_line.hpp"
#include "common/options.hpp"
#include "probe/named_servers.hpp"
#include "run/run_options.hpp"
#include "run/with_names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// The values as given; durations are parsed after CLI11 is done, for messages of our own.
struct lock_words {
  common_options common;
  std::string name;
  std::optional<std::string> wait;
  std::optional<std::string> wait_server;
  std::optional<std::string> ttl;
  std::optional<std::string> label;
  std::string history;
  std::optional<std::int64_t> slots;
  with_words with{};  ///< of `run` alone
  std::optional<std::int64_t> replicas;
  std::string wire;
  bool no_wait = false;
  bool fsynced = false;
  bool fair = false;
  bool shared = false;
  bool exclusive = false;
  bool set_slots = false;
};

/// NAME and the times to wait for it and for the server. Declared first, since help has options in the order
/// of declaration.
void add_name_and_wait(command_options& command, lock_words& to);

/// What the lock is, and what it is for.
void add_kind(command_options& command, lock_words& to);

/// --replicas and --fsynced, and --label: parts of add_kind.
void add_durability(command_options& command, lock_words& to);
void add_label(command_options& command, lock_words& to);

/// --history. Not of `acquire`: others renew and release that lock, and nobody would say so.
void add_history(command_options& command, lock_words& to);

/// --ttl, with a text that says what becomes of the lock meanwhile.
void add_ttl(command_options& command, lock_words& to, std::string const& text);

/// `command`: its name, for messages. Throws failure with exit_code::usage.
[[nodiscard]] run_options lock_options_of(lock_words const& from, std::string_view command);

/// Throws failure with exit_code::usage when such servers lack a feature that the options require.
void check_fits(run_options const&, probe::named_servers const& servers);

/// The option that chooses this kind of lock; empty: none does.
[[nodiscard]] std::string_view option_of(run_side side);

}  // namespace holdfast::cli
