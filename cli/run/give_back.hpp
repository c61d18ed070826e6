/// Gives a lock back at the end, without waiting for a silent server for long.
#pragma once

#include "process/signals.hpp"
#include "run/run_options.hpp"

#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// Waits two seconds for the answer, or until a signal: a release that isn't confirmed by then is `unknown`.
[[nodiscard]] release_result give_back(lease held, signals const& receiver);

/// Says that a release is `unknown`.
void note_unconfirmed_release(run_options const& options);

}  // namespace holdfast::cli
