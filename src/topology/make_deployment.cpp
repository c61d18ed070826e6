#include "topology/make_deployment.hpp"

#include <utility>

#include "topology/cluster.hpp"
#include "topology/one_server.hpp"
#include "topology/sentinel_deployment.hpp"

namespace holdfast::topology {

std::unique_ptr<deployment> make_deployment(reactor::loop& loop, net::deployment_url const& url,
                                            net::settings const& config, client_stats& counts,
                                            events handlers) {
  switch (url.deployment) {
    case net::deployment_url::kind::sentinel:
      return std::make_unique<sentinel_deployment>(loop, url, config, counts, std::move(handlers));
    case net::deployment_url::kind::cluster:
      return std::make_unique<cluster>(loop, url, config, counts, std::move(handlers));
    case net::deployment_url::kind::single:
    case net::deployment_url::kind::quorum:
    case net::deployment_url::kind::etcd:  // never comes here: it has a backend of its own
      break;
  }
  return std::make_unique<one_server>(
      loop, config, counts,
      server_connections::events{.refused = {}, .troubled = {}, .broken = std::move(handlers.broken)},
      std::move(handlers.replica));
}

}  // namespace holdfast::topology
