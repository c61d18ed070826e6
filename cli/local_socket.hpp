/// Does something listen on this machine? A connect that is closed again at once, nothing sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::cli {

/// What fits into a sockaddr_un, less the closing zero.
inline constexpr std::size_t longest_unix_path = 107;

[[nodiscard]] bool answers_on_unix(std::string const& path);
[[nodiscard]] bool answers_on_ipv4_loopback(std::uint16_t port);
[[nodiscard]] bool answers_on_ipv6_loopback(std::uint16_t port);

}  // namespace holdfast::cli
