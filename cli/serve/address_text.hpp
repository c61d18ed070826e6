/// The address of a socket as text.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>

namespace holdfast::cli {

/// Without its port: "127.0.0.1", "::1"; "unix" for a socket in the file system.
[[nodiscard]] std::string address_text(sockaddr const* address, std::size_t size);

}  // namespace holdfast::cli
