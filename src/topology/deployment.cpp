#include "topology/deployment.hpp"

#include <utility>

#include "topology/cluster.hpp"
#include "topology/sentinel.hpp"
#include "topology/single.hpp"

namespace holdfast::topology {

std::unique_ptr<deployment> make_deployment(reactor::loop& on, net::place const& where,
                                            net::settings const& how, client_stats& counts, events tell) {
  switch (where.what) {
    case net::place::kind::sentinel:
      return std::make_unique<sentinel>(on, where, how, counts, std::move(tell));
    case net::place::kind::cluster:
      return std::make_unique<cluster>(on, where, how, counts, std::move(tell));
    case net::place::kind::single:
    case net::place::kind::quorum:
      break;
  }
  return std::make_unique<single>(on, how, counts,
                                  lanes::events{.refused = {}, .troubled = std::move(tell.broken)});
}

}  // namespace holdfast::topology
