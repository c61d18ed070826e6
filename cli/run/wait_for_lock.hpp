/// Waits for the lock until it is granted, the time is up or a signal ends the wait.
#pragma once

#include "process/signals.hpp"
#include "run/locks.hpp"

#include <holdfast/lease.hpp>

#include <optional>
#include <string>

namespace holdfast::cli {

struct wait_result {
  std::optional<lease> held;
  int signal = 0;      ///< the signal that ended the wait; 0: none
  int code = 0;        ///< the exit code, if there is no lease and no signal
  std::string busy{};  ///< the message that the lock is busy, not printed yet (all others are)
};

/// Throws holdfast::error.
[[nodiscard]] wait_result wait_for_lock(run_lock& lock, run_options const&, signals const&,
                                        std::string const& server);

/// Without a lease: prints that the lock is busy, and throws ended_by_signal if a signal ended the wait.
void report_failed_wait(wait_result const& ended);

}  // namespace holdfast::cli
