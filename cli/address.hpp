/// Where a server says that it is.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::cli {

struct address {
  std::string host{};
  std::uint16_t port = 0;

  friend bool operator==(address const&, address const&) = default;
};

/// "host:port", an IPv6 address in brackets.
[[nodiscard]] inline std::string to_string(address const& where) {
  auto const v6 = where.host.find(':') != std::string::npos;
  return (v6 ? '[' + where.host + ']' : where.host) + ':' + std::to_string(where.port);
}

}  // namespace holdfast::cli
