/// Waits for the lock, for as long as asked and until a signal ends the wait.
#pragma once

#include "signals.hpp"

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/lease.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::cli {

struct acquisition {
  std::optional<lease> held;
  int code = 0;        ///< without a lease: what to exit with
  std::string busy{};  ///< why, if the lock was busy: yet to be said. All else has been
};

/// `wait` empty: for ever. Throws holdfast::error.
[[nodiscard]] acquisition acquire(exclusive_lock& lock, std::optional<std::chrono::milliseconds> wait,
                                  signals const&, std::string const& server);

}  // namespace holdfast::cli
