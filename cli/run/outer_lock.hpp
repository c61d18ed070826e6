/// The locks of the `holdfast run`s in whose commands this one runs.
#pragma once

#include "run/run.hpp"

#include <holdfast/client.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

/// Whether this `run` may be the second for its lock: the name is that of an outer one.
[[nodiscard]] bool has_name_of_outer_lock(run_options const& options);

/// What tells a `holdfast` in the command of the outer locks: NAME=VALUE, or empty if there are none. The
/// nearest one is in HOLDFAST_NAME and HOLDFAST_OWNER, which the command gets for this run's lock.
[[nodiscard]] std::string outer_lock_for_command();

/// A wait of `redis` that closes a circle, in which outer `run`s hold locks for this one, is found.
void count_outer_locks(client& redis);

/// Refuses to wait for a lock that outer `run`s hold, which don't end before their commands: found by what
/// the environment says, and by a look at the lock, so that the same name on another server, or an outer lock
/// that is over, is in nobody's way. A request for each outer lock of the name only. Throws failure with
/// exit_code::busy, and holdfast::error.
void refuse_own_lock(client& redis, std::string_view url, run_options const& options);

}  // namespace holdfast::cli
