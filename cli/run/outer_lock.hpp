/// The locks of the `holdfast run`s in whose commands this one runs.
#pragma once

#include "run/run_options.hpp"

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

/// Environment variables, as NAME=VALUE, that tell a `holdfast` in the command of the locks around it: those
/// around this `run`, and this run's own but the first, which is in HOLDFAST_NAME and HOLDFAST_OWNER.
[[nodiscard]] std::vector<std::string> outer_locks_for_command(lease const& held, run_options const& options);

/// The locks of outer `run`s count as held by this process, so that circles through them are found.
void count_outer_locks(client& redis);

/// Refuses to wait for a lock of an outer `run`, which doesn't end before its command. If the environment has
/// the name, the server is asked, too: the outer lock may be over, or on another server. That takes a request
/// for each outer lock of the name, and none for other names. Throws failure with exit_code::busy, and
/// holdfast::error.
void refuse_own_lock(client& redis, std::string_view url, run_options const& options);

}  // namespace holdfast::cli
