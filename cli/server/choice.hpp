/// Chooses the Redis: the one that is named, else one on this machine, else a private one.
#pragma once

#include "common/options.hpp"

#include <cstdint>
#include <string>

namespace holdfast::cli {

/// The URL, with its password, of the first of these that says anything: --url or --local, HOLDFAST_URL,
/// REDIS_URL, the user's configuration file, the system's. When none does: localhost:6379 if a server listens
/// there, else, on a terminal, the private server. A lock that others don't see by this is announced. Throws
/// failure, with exit_code::usage when there is no server to take.
[[nodiscard]] std::string choose_server(common_options const& options);

/// The same for commands that only look: the private server if it runs; it is not started, since it would
/// hold nothing. Throws failure with exit_code::unavailable when it doesn't run.
[[nodiscard]] std::string find_server(common_options const& options);

/// How a person is recognized, for whom the private server is looked for although nothing names it.
enum class person_by : std::uint8_t {
  standard_files,  ///< stdin or stderr is a terminal
  session,         ///< there is a terminal, whatever these are: completion runs `ls --names` without them
};

/// The same for commands that look at the locks of one deployment. Throws failure with exit_code::usage for
/// masters that vote, since each has its own locks.
[[nodiscard]] std::string find_locks_server(common_options const& options,
                                            person_by terminal = person_by::standard_files);

}  // namespace holdfast::cli
