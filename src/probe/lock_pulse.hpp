/// What is asked of each lock again and again.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace holdfast::probe {

struct lock_pulse {
  std::size_t state = 0;  ///< differs when holder, token, numbers or waiters do
  bool in_use = false;    ///< held, or waited for, or no lock
  /// nullopt: it wasn't asked for. Negative: it has none, or permits without a lease last for longer than any
  /// lease, or there is no key.
  std::optional<std::chrono::milliseconds> ttl{};
};

enum class pulse_scope : bool { state, state_and_ttl };

/// Of a queue so many are looked at, too. The next holder is one of the first, and a hundred of each lock
/// would take the server over a millisecond.
inline constexpr int queue_entries_of_a_look = 8;

}  // namespace holdfast::probe
