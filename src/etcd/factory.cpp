// Makes the backend on etcd from a URL.

#include <fstream>
#include <holdfast/error.hpp>
#include <iterator>

#include "base/quiet_thread.hpp"
#include "engine/backend_on_etcd.hpp"
#include "etcd/backend.hpp"
#include "net/deployment_url.hpp"

namespace holdfast::engine {
namespace {

std::string read(std::string const& file, std::string const& url) {
  if (file.empty()) return {};
  std::ifstream from{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  if (!from.good() || text.empty())
    throw error{errc::bad_url, url + ": the file " + file + " can't be read, or is empty; it has to be PEM"};
  return text;
}

}  // namespace

std::unique_ptr<lock_backend> make_backend_on_etcd(reactor::loop& loop, net::deployment_url const& url,
                                                   client_constants const& client, client_stats& counts,
                                                   topology::events handlers) {
  auto const& server = url.server;
  etcd::settings to{.tls = server.transport == net::endpoint::scheme::tls,
                    .ca = read(server.tls.ca, client.url),
                    .cert = read(server.tls.cert, client.url),
                    .key = read(server.tls.key, client.url),
                    .user = server.user,
                    .password = server.password,
                    .connect_timeout = client.options.connect_timeout};
  to.endpoints.reserve(url.hosts.size());
  for (auto const& host : url.hosts) to.endpoints.push_back(net::host_and_port(host.host, host.port));
  if (client.wire == wire::redisson) {
    throw error{std::errc::invalid_argument,
                client.url + ": Redisson's wire is a format of Redis; leave client_options::wire out"};
  }
  signals_blocked const for_new_threads;
  return std::make_unique<etcd::backend>(loop, client, counts, url.prefix, to, std::move(handlers));
}

}  // namespace holdfast::engine
