/// What the messages to one client say. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/answers.hpp"

namespace holdfast::engine {

/// A message in a client's inbox for one lock: "woken <number> <name>" (ask again), "granted <number> <token>
/// <tokens> <name>" (the lock is yours, for a short while), or "ready <number> <name>" (ask again, and nobody
/// else could have used this message). The number is the contender's.
struct turn_message {
  std::uint64_t number = 0;
  bool for_it_alone = false;  ///< "ready"
  std::optional<granted> grant{};
  std::string_view name{};  ///< of the lock; in the message
};
/// Nullopt: another kind of message, perhaps of a newer Holdfast.
[[nodiscard]] std::optional<turn_message> read_turn_message(std::string_view message);

/// A hint, "asked <number>": somebody releases the lease with that number by force, so look at the key beside
/// the lock. Nullopt as above.
[[nodiscard]] std::optional<std::uint64_t> read_hint(std::string_view message);

}  // namespace holdfast::engine
