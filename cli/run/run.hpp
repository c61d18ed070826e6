/// `holdfast run`: runs a command under a lock.
#pragma once

#include "run/run_options.hpp"

namespace holdfast::cli {

/// Returns the exit code. Throws failure and holdfast::error.
[[nodiscard]] int run(run_options const&);

}  // namespace holdfast::cli
