/// The locks of the `holdfast run`s in whose commands this one runs.
#pragma once

#include "run/run.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Whether this `run` may be the second for a lock: one of its names is that of an outer one.
[[nodiscard]] bool has_name_of_outer_lock(run_options const& options);

/// The owner id of this name in Redis.
[[nodiscard]] std::string owner_of(lease const& held, run_options const& options, run_name const& name);

/// What tells a `holdfast` in the command of the outer locks, each as NAME=VALUE: of those that this `run` is
/// in, and of this run's own but the first, which is in HOLDFAST_NAME and HOLDFAST_OWNER.
[[nodiscard]] std::vector<std::string> outer_locks_for_command(lease const& held, run_options const& options);

/// A wait of `redis` that closes a circle, in which outer `run`s hold locks for this one, is found.
void count_outer_locks(client& redis);

/// Refuses to wait for a lock that outer `run`s hold, which don't end before their commands: found by what
/// the environment says, and by a look at the lock, so that the same name on another server, or an outer lock
/// that is over, is in nobody's way. A request for each outer lock of the name only. Throws failure with
/// exit_code::busy, and holdfast::error.
void refuse_own_lock(client& redis, std::string_view url, run_options const& options);

}  // namespace holdfast::cli
