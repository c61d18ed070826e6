/// Waits for the lock, for as long as asked and until a signal ends the wait.
#pragma once

#include "run_lock.hpp"
#include "signals.hpp"

#include <holdfast/lease.hpp>

#include <optional>
#include <string>

namespace holdfast::cli {

struct acquisition {
  std::optional<lease> held;
  int code = 0;        ///< without a lease: what to exit with
  std::string busy{};  ///< why, if the lock was busy: yet to be said. All else has been
};

/// Throws holdfast::error.
[[nodiscard]] acquisition acquire(run_lock& lock, run_options const&, signals const&,
                                  std::string const& server);

}  // namespace holdfast::cli
