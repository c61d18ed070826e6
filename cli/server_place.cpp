// With server_session.cpp all of the command that knows the library's inside.
#include "server_place.hpp"

#include "net/deployment_url.hpp"

#include <utility>

namespace holdfast::cli {
namespace {

deployment_kind kind_of(net::deployment_url::kind const what) noexcept {
  switch (what) {
    case net::deployment_url::kind::sentinel:
      return deployment_kind::sentinel;
    case net::deployment_url::kind::cluster:
      return deployment_kind::cluster;
    case net::deployment_url::kind::quorum:
      return deployment_kind::quorum;
    case net::deployment_url::kind::single:
      break;
  }
  return deployment_kind::single;
}

}  // namespace

struct server_place::impl {
  impl(std::string_view const url, name_scope names)
      : where{net::parse_deployment_url(url)}, of{std::move(names)} {
    for (auto const& one : where.hosts) hosts.push_back({one.host, one.port});
  }

  net::deployment_url const where;
  name_scope const of;
  std::vector<address> hosts{};
};

server_place::server_place(std::string_view const url, name_scope of)
    : impl_{std::make_unique<impl>(url, std::move(of))} {}
server_place::~server_place() = default;

deployment_kind server_place::kind() const noexcept { return kind_of(impl_->where.deployment); }
std::string const& server_place::url() const noexcept { return impl_->where.server.display; }
std::string const& server_place::master() const noexcept { return impl_->where.master; }
std::vector<address> const& server_place::hosts() const noexcept { return impl_->hosts; }

std::unique_ptr<server_session> server_place::to_server() const {
  return std::make_unique<server_session>(impl_->where.server, impl_->of);
}

std::unique_ptr<server_session> server_place::to_host(std::size_t const index) const {
  return std::make_unique<server_session>(impl_->where.hosts.at(index), impl_->of);
}

std::unique_ptr<server_session> server_place::to_announced(address const& name) const {
  return std::make_unique<server_session>(impl_->where.announced(name.host, name.port), impl_->of);
}

std::unique_ptr<server_session> server_place::to_sentinel(address const& name) const {
  // Its address is mapped as any other; how it is talked to, it has in common with those of the URL.
  auto const reached = impl_->where.announced(name.host, name.port);
  auto to = impl_->where.hosts.front();
  to.host = reached.host;
  to.port = reached.port;
  to.display = reached.display;
  return std::make_unique<server_session>(to);
}

}  // namespace holdfast::cli
