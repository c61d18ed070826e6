/// Clients that regard a server as unreachable only when it hangs.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>

namespace holdfast::test {

/// The same options, with default time-outs replaced by ones that no machine exceeds. The default of two
/// seconds may pass while a busy machine runs other processes, and requests are then sent again or fail. For
/// tests in which no server is silent.
[[nodiscard]] inline client_options with_long_timeouts(client_options options = {}) {
  client_options const defaults;
  constexpr std::chrono::seconds long_enough{20};
  if (options.connect_timeout == defaults.connect_timeout) options.connect_timeout = long_enough;
  if (options.reply_timeout == defaults.reply_timeout) options.reply_timeout = long_enough;
  return options;
}

}  // namespace holdfast::test
