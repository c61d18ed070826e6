/// A private Redis for users without one: a redis-server on a unix socket in a folder of the user's
/// (local_folder.hpp), shared by all of the user's processes on this machine, without a TCP port and without
/// data files.
#pragma once

#include <optional>
#include <string>

namespace holdfast::cli {

struct embedded_server {
  std::string url;
  std::string socket;
};

/// Finds or starts the server; concurrent callers start it once. Throws failure.
[[nodiscard]] embedded_server use_embedded_server();

/// Finds the server if it runs; starts and creates nothing. Throws failure.
[[nodiscard]] std::optional<embedded_server> find_embedded_server();

}  // namespace holdfast::cli
