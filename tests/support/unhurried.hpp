/// Clients that take a server for gone only when it hangs.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>

namespace holdfast::test {

/// The same options, unless they say otherwise with time-outs that no machine exceeds: the two seconds that
/// are the default may pass while a busy one runs others, and then requests are sent again or fail. For tests
/// in which no server is silent.
[[nodiscard]] inline client_options unhurried(client_options options = {}) {
  client_options const usual;
  constexpr std::chrono::seconds long_enough{20};
  if (options.connect_timeout == usual.connect_timeout) options.connect_timeout = long_enough;
  if (options.reply_timeout == usual.reply_timeout) options.reply_timeout = long_enough;
  return options;
}

}  // namespace holdfast::test
