/// A private Redis for those who gave none: a real redis-server on a unix socket in the user's runtime
/// folder, shared by all of the user's processes on this machine, without a TCP port and without files of
/// data.
#pragma once

#include <optional>
#include <string>

namespace holdfast::cli {

struct embedded_server {
  std::string url;
  std::string socket;
  bool started_now = false;
};

/// Finds it or starts it: once, however many ask at the same time. Throws failure.
[[nodiscard]] embedded_server use_embedded_server();

/// Only if it runs: nothing is started or made. Throws failure.
[[nodiscard]] std::optional<embedded_server> find_embedded_server();

}  // namespace holdfast::cli
