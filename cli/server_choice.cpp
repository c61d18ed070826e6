#include "server_choice.hpp"

#include "embedded_server.hpp"
#include "local_socket.hpp"
#include "output.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

namespace holdfast::cli {

std::string choose_server(std::string const& given) {
  if (!given.empty()) return given;
  for (char const* const variable : {"HOLDFAST_URL", "REDIS_URL"}) {
    char const* const value = std::getenv(variable);
    if (value != nullptr && value[0] != '\0') return value;
  }
  constexpr std::uint16_t redis_port = 6379;
  if (answers_on_ipv4_loopback(redis_port)) return "redis://127.0.0.1:6379";
  if (answers_on_ipv6_loopback(redis_port)) return "redis://[::1]:6379";

  auto const server = use_embedded_server();
  auto const line = fmt::format(
      "no Redis given or on localhost:6379; using a private one at {} (this machine and user only)",
      server.socket);
  if (server.started_now) {
    output::note(line);
  } else {
    output::tell(line);
  }
  return server.url;
}

}  // namespace holdfast::cli
