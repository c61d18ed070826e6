/// The address of a server as servers announce it: sentinels, nodes of a cluster, replication.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::net {

struct server_address {
  std::string host{};
  std::uint16_t port = 0;

  friend bool operator==(server_address const&, server_address const&) = default;
};

/// "host:port", an IPv6 address in brackets.
[[nodiscard]] inline std::string to_string(server_address const& server) {
  auto const v6 = server.host.find(':') != std::string::npos;
  return (v6 ? '[' + server.host + ']' : server.host) + ':' + std::to_string(server.port);
}

}  // namespace holdfast::net
