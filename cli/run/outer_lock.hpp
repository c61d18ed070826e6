/// The lock of the `holdfast run` in whose command this one runs.
#pragma once

#include "run/run.hpp"

#include <holdfast/client.hpp>

#include <string_view>

namespace holdfast::cli {

/// Whether this `run` may be the second for its lock: the name is that of the outer one.
[[nodiscard]] bool has_name_of_outer_lock(run_options const& options);

/// Refuses to wait for a lock that the outer `run` holds, which doesn't end before its command: found by
/// HOLDFAST_NAME and HOLDFAST_OWNER, and by a look at the lock, so that the same name on another server, or
/// an outer lock that is over, is in nobody's way. A request for the name of the outer lock only. Throws
/// failure with exit_code::busy, and holdfast::error.
void refuse_own_lock(client& redis, std::string_view url, run_options const& options);

}  // namespace holdfast::cli
