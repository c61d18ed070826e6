#include "server/choice.hpp"

#include "common/configuration.hpp"
#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "probe/named_servers.hpp"
#include "probe/url_password.hpp"
#include "process/terminal.hpp"
#include "server/embedded_server.hpp"
#include "server/local_socket.hpp"
#include "server/passwords.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace holdfast::cli {

namespace {

/// What names the Redis; the first place that says anything counts.
struct named_redis {
  enum class private_server : std::uint8_t {
    on_terminal,  ///< nobody has said anything about it
    wanted,
    refused,  ///< local = false
  };

  std::string url{};            ///< empty: none is named
  std::string password_file{};  ///< of the configuration, for this URL
  private_server local = private_server::on_terminal;
};

/// A password is for the URL of the same file, or of one that counts less: not for another Redis.
named_redis named_by_files() {
  named_redis found;
  for (auto const& file : configuration()) {
    if (!file.unreadable.empty())
      throw failure{usage, fmt::format("{}: can't be read: {}", file.path, file.unreadable)};
    if (found.password_file.empty()) found.password_file = file.password_file;
    found.url = file.url;
    if (!found.url.empty()) return found;
    if (!file.local || found.local == named_redis::private_server::refused) continue;
    if (*file.local) return {.local = named_redis::private_server::wanted};
    found.local = named_redis::private_server::refused;
  }
  return found;
}

named_redis named_by(common_options const& options) {
  if (options.local) return {.local = named_redis::private_server::wanted};
  if (probe::shows_password(options.url)) {
    output::note(
        "warning: all users of this machine can see the password in --url (ps); HOLDFAST_PASSWORD, "
        "--password-file or a configuration file hides it");
  }
  if (!options.url.empty()) return {.url = options.url};
  for (char const* const name : {"HOLDFAST_URL", "REDIS_URL"}) {
    if (auto url = environment_value(name); !url.empty()) return {.url = std::move(url)};
  }
  return named_by_files();
}

/// Empty: no server listens.
std::string url_of_localhost() {
  constexpr std::uint16_t redis_port = 6379;
  if (listens_on_ipv4_loopback(redis_port)) return "redis://127.0.0.1:6379";
  if (listens_on_ipv6_loopback(redis_port)) return "redis://[::1]:6379";
  return {};
}

bool on_terminal(person_by const terminal = person_by::standard_files) {
  return isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1 ||
         (terminal == person_by::session && session_has_terminal());
}

std::string how_to_name_one() {
  return fmt::format("name one with --url, HOLDFAST_URL or `url = ...` in {}", configuration_places);
}

struct usable_redis {
  std::string url{};  ///< empty: the private server is to be used
  bool is_named = true;
};

/// A password is for a Redis that is named: nobody else on this machine is to get it who happens to listen on
/// the port.
usable_redis find_redis(common_options const& options, person_by const terminal) {
  auto const named = named_by(options);
  if (!named.url.empty()) return {.url = with_its_password(named.url, options, named.password_file)};
  if (!options.password_file.empty())
    throw failure{usage, "--password-file: no Redis is named; " + how_to_name_one()};
  if (named.local == named_redis::private_server::wanted) return {};
  if (auto url = url_of_localhost(); !url.empty()) return {.url = url, .is_named = false};
  if (named.local == named_redis::private_server::on_terminal && on_terminal(terminal)) return {};
  throw failure{usage, fmt::format("no Redis is named, and none listens on localhost:6379; {}; --local locks "
                                   "on this machine alone",
                                   how_to_name_one())};
}

}  // namespace

std::string choose_server(common_options const& options) {
  auto const found = find_redis(options, person_by::standard_files);
  if (!found.is_named) {
    auto const text = fmt::format(
        "using the Redis on localhost:6379, as none is named: jobs of other hosts "
        "that do the same don't exclude this one; {}",
        how_to_name_one());
    on_terminal() ? output::info(text) : output::note(text);
  }
  if (!found.url.empty()) return found.url;
  auto const server = use_embedded_server();
  output::note(
      fmt::format("using a private Redis at {}: this locks on this machine alone, for your own "
                  "processes",
                  server.socket));
  return server.url;
}

namespace {

std::string find_server(common_options const& options, person_by const terminal) {
  auto const found = find_redis(options, terminal);
  if (!found.is_named) output::info("using the Redis on localhost:6379, as none is named");
  if (!found.url.empty()) return found.url;
  auto const server = find_embedded_server();
  if (!server) {
    throw failure{unavailable, fmt::format("no private Redis runs, so there are no locks to look at; {}",
                                           how_to_name_one())};
  }
  output::info(fmt::format("using a private Redis at {}: locks of this machine alone", server->socket));
  return server->url;
}

}  // namespace

std::string find_server(common_options const& options) {
  return find_server(options, person_by::standard_files);
}

std::string find_locks_server(common_options const& options, person_by const terminal) {
  auto url = find_server(options, terminal);
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
