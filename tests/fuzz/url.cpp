// URLs: refused with an error that says so, or shown without their passwords in a form that means the same.

#include <holdfast/error.hpp>

#include <optional>
#include <string>

#include "fuzz/fuzz.hpp"
#include "net/deployment_url.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;

std::optional<net::deployment_url> read(std::string_view text) {
  try {
    return net::parse_deployment_url(text);
  } catch (error const& problem) {
    require(problem.code() == errc::bad_url, "a URL is refused as one");
    require(std::string_view{problem.what()}.find('\n') == std::string_view::npos, "the reason is one line");
    return std::nullopt;
  }
}

void require_same(net::endpoint const& one, net::endpoint const& other) {
  require(one.transport == other.transport && one.host == other.host && one.port == other.port &&
              one.path == other.path && one.user == other.user && one.db == other.db &&
              one.wire == other.wire && one.cas == other.cas && one.scripts == other.scripts &&
              one.tls.ca == other.tls.ca && one.tls.cert == other.tls.cert && one.tls.key == other.tls.key &&
              one.tls.verify == other.tls.verify,
          "the URL that is shown means the same");
  require(other.password == (one.password.empty() ? "" : "***"), "it is shown without its password");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const given = read(text_of(data, size));
  if (!given) return 0;
  auto const shown = read(given->server.display);
  require(shown.has_value(), "the URL that is shown is accepted");
  require(shown->server.display == given->server.display, "it is shown as it is");
  require_same(given->server, shown->server);
  require(
      given->deployment == shown->deployment && given->master == shown->master && given->nat == shown->nat,
      "the deployment is the same");
  require(given->hosts.size() == shown->hosts.size(), "the hosts are the same");
  for (std::size_t i = 0; i != given->hosts.size(); ++i) require_same(given->hosts[i], shown->hosts[i]);
  require((given->deployment == net::deployment_url::kind::single) == given->hosts.empty(),
          "several servers have hosts");
  for (auto const& [from, to] : given->nat) {
    auto const announced = net::parse_url(from);
    auto const reached = given->announced(announced.host, announced.port);
    require(net::host_and_port(reached.host, reached.port) == to, "addresses are translated");
  }
  return 0;
}
