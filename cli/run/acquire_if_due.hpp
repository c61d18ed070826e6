/// Acquires the lock for a job with --once-per or --at-most-every, if the job is due.
#pragma once

#include "run/run_notes.hpp"
#include "run/wait_for_lock.hpp"

#include <string>

namespace holdfast::cli {

/// As wait_for_lock(), but a job that isn't due, or whose lock is busy, is no failure: a line says why, and
/// the code is 0. With a lease, the run is noted as begun. Throws holdfast::error, and failure when the lock
/// is lost before the command.
[[nodiscard]] wait_result acquire_if_due(run_lock& lock, run_notes& notes, run_options const& options,
                                         signals const& receiver, std::string const& server);

}  // namespace holdfast::cli
