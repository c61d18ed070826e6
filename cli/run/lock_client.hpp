/// The client of a command that takes a lock, and that lock.
#pragma once

#include "process/signals.hpp"
#include "run/locks.hpp"

#include <holdfast/client.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// From the options of `run`, `acquire` and `hold` to a lock that can be waited for.
struct lock_client {
  /// The URL must be that of servers that fit the options: see check_fits. `name`: client_options::name.
  /// Messages are to be kept from before (output::begin_to_keep), as no signal ends a wait for their reader.
  /// Throws failure and holdfast::error.
  lock_client(std::string const& url, std::string_view name, run_options const& asked);

  signals receiver;  // first: it blocks the signals for the threads of the client, too
  client redis;
  run_options options;  ///< with what is left of --wait
  std::unique_ptr<run_lock> lock;
};

}  // namespace holdfast::cli
