/// How long the commands that take a lock wait for a server that can't be reached.
#pragma once

#include "run/run_options.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <optional>

namespace holdfast::cli {

/// For client_options::patience: --wait-server, else --wait; 0 leaves it to the client.
[[nodiscard]] std::chrono::milliseconds patience_of(run_options const& options);

/// How long a server that can be reached may leave the request for the lock without an answer, because it is
/// silent, or loads its data; nullopt: the options don't say it.
[[nodiscard]] std::optional<std::chrono::milliseconds> limit_of_silence(run_options const& options);

/// Waits for the server if it is asked for other things before it is asked for the lock. Returns the options
/// with what is left of --wait. Throws holdfast::error.
[[nodiscard]] run_options reach_server(client& redis, run_options options);

}  // namespace holdfast::cli
