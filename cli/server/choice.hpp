/// Chooses the Redis: the given one, else one on this machine, else a private one.
#pragma once

#include <string>

namespace holdfast::cli {

/// `given` (--url), else HOLDFAST_URL, else REDIS_URL, else localhost:6379 if a server listens there, else
/// the embedded server, with a message. Throws failure.
[[nodiscard]] std::string choose_server(std::string const& given);

/// The same for commands that only look: the embedded server if it runs; it is not started, since it would
/// hold nothing. Throws failure with exit_code::unavailable when there is none.
[[nodiscard]] std::string find_server(std::string const& given);

/// The same for commands that look at the locks of one deployment. Throws failure with exit_code::usage for
/// masters that vote, since each has its own locks.
[[nodiscard]] std::string find_locks_server(std::string const& given);

}  // namespace holdfast::cli
