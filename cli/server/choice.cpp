#include "server/choice.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "probe/named_servers.hpp"
#include "server/embedded_server.hpp"
#include "server/local_socket.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

namespace holdfast::cli {

namespace {

/// Empty: no URL is given, and no server listens.
std::string given_or_local(std::string const& given) {
  if (!given.empty()) return given;
  for (char const* const variable : {"HOLDFAST_URL", "REDIS_URL"}) {
    char const* const value = std::getenv(variable);
    if (value != nullptr && value[0] != '\0') return value;
  }
  constexpr std::uint16_t redis_port = 6379;
  if (listens_on_ipv4_loopback(redis_port)) return "redis://127.0.0.1:6379";
  if (listens_on_ipv6_loopback(redis_port)) return "redis://[::1]:6379";
  return {};
}

std::string announcement(embedded_server const& server) {
  return fmt::format(
      "no Redis was given, and none listens on localhost:6379; using a private one at {} (this machine and "
      "user only)",
      server.socket);
}

}  // namespace

std::string choose_server(std::string const& given) {
  if (auto url = given_or_local(given); !url.empty()) return url;
  auto const server = use_embedded_server();
  if (server.started_now) {
    output::note(announcement(server));
  } else {
    output::info(announcement(server));
  }
  return server.url;
}

std::string find_server(std::string const& given) {
  if (auto url = given_or_local(given); !url.empty()) return url;
  auto const server = find_embedded_server();
  if (!server) {
    throw failure{
        unavailable,
        "no Redis was given, none listens on localhost:6379, and no private one runs; give one with "
        "--url redis://HOST:PORT"};
  }
  output::info(announcement(*server));
  return server->url;
}

std::string find_locks_server(std::string const& given) {
  auto url = find_server(given);
  probe::named_servers const deployment{url};
  if (deployment.kind() != probe::deployment_kind::quorum) return url;
  throw failure{usage,
                fmt::format("the {} servers of {} know nothing of each other, and each shows its own locks: "
                            "give one of them, as in --url {}://{}",
                            deployment.hosts().size(), deployment.url(),
                            deployment.url().starts_with("rediss") ? "rediss" : "redis",
                            to_string(deployment.hosts().front()))};
}

}  // namespace holdfast::cli
