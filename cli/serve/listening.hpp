/// The socket on which `holdfast serve` listens.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

struct listening_socket {
  int file = -1;          ///< it belongs to the caller
  std::string address{};  ///< for messages and the browser: "127.0.0.1:7480"
  bool loopback = true;   ///< only processes of this machine reach it
};

/// Listens on `address`: HOST:PORT, the host as an IP address or `localhost`, an IPv6 address in brackets.
/// Port 0 takes any. Throws failure: exit_code::usage for another text, and exit_code::unavailable if that
/// can't be had, with the process that has the port if that can be found out.
[[nodiscard]] listening_socket listen_on(std::string_view address);

/// The socket that the service manager has passed (systemd's LISTEN_FDS), which it takes out of the
/// environment. `file` is -1 without one. Throws failure if it has passed several, or something else.
[[nodiscard]] listening_socket passed_socket();

}  // namespace holdfast::cli
