/// Checks whether a server listens on this machine: connects and closes the connection at once, without data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::cli {

/// The longest path in a sockaddr_un, without the closing zero.
inline constexpr std::size_t longest_unix_path = 107;

/// Throws failure when that can't be told: after a wrong "no" a second private server would be started,
/// which takes the socket from the first.
[[nodiscard]] bool listens_on_unix(std::string const& path);
/// Also true for a server that doesn't accept in time: only a refused connection means that nobody listens.
[[nodiscard]] bool listens_on_ipv4_loopback(std::uint16_t port);
[[nodiscard]] bool listens_on_ipv6_loopback(std::uint16_t port);

}  // namespace holdfast::cli
