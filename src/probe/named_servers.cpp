#include "probe/named_servers.hpp"

#include "base/hash_slot.hpp"
#include "net/deployment_url.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::probe {
namespace {

deployment_kind kind_of(net::deployment_url::kind const kind) noexcept {
  switch (kind) {
    case net::deployment_url::kind::sentinel:
      return deployment_kind::sentinel;
    case net::deployment_url::kind::cluster:
      return deployment_kind::cluster;
    case net::deployment_url::kind::quorum:
      return deployment_kind::quorum;
    case net::deployment_url::kind::etcd:
      return deployment_kind::etcd;
    case net::deployment_url::kind::single:
      break;
  }
  return deployment_kind::single;
}

}  // namespace

struct named_servers::impl {
  impl(std::string_view const text, name_scope names)
      : whole{text}, url{net::parse_deployment_url(text)}, scope{std::move(names)} {
    for (auto const& host : url.hosts) hosts.push_back({host.host, host.port});
  }

  std::string const whole;
  net::deployment_url const url;
  name_scope const scope;
  std::vector<server_address> hosts{};
};

named_servers::named_servers(std::string_view const url, name_scope scope)
    : impl_{std::make_unique<impl>(url, std::move(scope))} {}
named_servers::~named_servers() = default;

deployment_kind named_servers::kind() const noexcept { return kind_of(impl_->url.deployment); }
wire named_servers::wire() const noexcept { return impl_->url.server.wire; }

bool named_servers::keep_together(std::span<std::string const> const keys) const noexcept {
  return kind() != deployment_kind::cluster || std::ranges::all_of(keys, [&](std::string const& key) {
           return hash_slot(key) == hash_slot(keys[0]);
         });
}

std::string const& named_servers::url() const noexcept { return impl_->url.server.display; }
std::string const& named_servers::url_with_passwords() const noexcept { return impl_->whole; }
std::string const& named_servers::key_prefix() const noexcept { return impl_->url.prefix; }
name_scope const& named_servers::scope() const noexcept { return impl_->scope; }
std::string const& named_servers::master() const noexcept { return impl_->url.master; }
std::vector<server_address> const& named_servers::hosts() const noexcept { return impl_->hosts; }

std::unique_ptr<server_session> named_servers::to_server() const {
  return std::make_unique<server_session>(impl_->url.server, impl_->scope);
}

std::unique_ptr<server_session> named_servers::to_host(std::size_t const index) const {
  return std::make_unique<server_session>(impl_->url.hosts.at(index), impl_->scope);
}

std::unique_ptr<server_session> named_servers::to_announced(server_address const& name) const {
  return std::make_unique<server_session>(impl_->url.announced(name.host, name.port), impl_->scope);
}

std::unique_ptr<server_session> named_servers::to_sentinel(server_address const& name) const {
  // The address is mapped like any other; credentials and TLS are those of the sentinels of the URL.
  auto const reached = impl_->url.announced(name.host, name.port);
  auto sentinel = impl_->url.hosts.front();
  sentinel.host = reached.host;
  sentinel.port = reached.port;
  sentinel.display = reached.display;
  return std::make_unique<server_session>(sentinel);
}

}  // namespace holdfast::probe
