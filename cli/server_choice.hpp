/// Which Redis: the one given, else one on this machine, else a private one.
#pragma once

#include <string>

namespace holdfast::cli {

/// `given` (--url), else HOLDFAST_URL, else REDIS_URL, else localhost:6379 if something listens there, else
/// the embedded server, which is said in one line. Throws failure.
[[nodiscard]] std::string choose_server(std::string const& given);

/// The same for commands that only look: the embedded server if it runs, but none is started to find nothing
/// in it. Throws failure with exit_code::unavailable when there is none.
[[nodiscard]] std::string find_server(std::string const& given);

/// The same for commands that look at locks as one deployment has them: masters that vote are several, of
/// which each has its own. Throws failure with exit_code::usage for these.
[[nodiscard]] std::string find_locks_server(std::string const& given);

}  // namespace holdfast::cli
