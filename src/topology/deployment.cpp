#include "topology/deployment.hpp"

#include <utility>

#include "topology/cluster.hpp"
#include "topology/sentinel.hpp"
#include "topology/single.hpp"

namespace holdfast::topology {

std::unique_ptr<deployment> make_deployment(reactor::loop& on, net::deployment_url const& where,
                                            net::settings const& how, client_stats& counts, events tell) {
  switch (where.deployment) {
    case net::deployment_url::kind::sentinel:
      return std::make_unique<sentinel>(on, where, how, counts, std::move(tell));
    case net::deployment_url::kind::cluster:
      return std::make_unique<cluster>(on, where, how, counts, std::move(tell));
    case net::deployment_url::kind::single:
    case net::deployment_url::kind::quorum:
      break;
  }
  return std::make_unique<single>(
      on, how, counts,
      server_connections::events{.refused = {}, .troubled = {}, .broken = std::move(tell.broken)});
}

}  // namespace holdfast::topology
