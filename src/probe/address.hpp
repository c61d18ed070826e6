/// The address that a server announces.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::probe {

struct address {
  std::string host{};
  std::uint16_t port = 0;

  friend bool operator==(address const&, address const&) = default;
};

/// "host:port", an IPv6 address in brackets.
[[nodiscard]] inline std::string to_string(address const& server) {
  auto const v6 = server.host.find(':') != std::string::npos;
  return (v6 ? '[' + server.host + ']' : server.host) + ':' + std::to_string(server.port);
}

}  // namespace holdfast::probe
