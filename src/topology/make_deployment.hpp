/// The one place that knows all deployments.
#pragma once

#include <memory>

#include "net/deployment_url.hpp"
#include "topology/deployment.hpp"

namespace holdfast::topology {

/// Makes the deployment that a URL names. `config` must outlive it.
[[nodiscard]] std::unique_ptr<deployment> make_deployment(reactor::loop& loop, net::deployment_url const& url,
                                                          net::settings const& config, client_stats& counts,
                                                          events handlers);

}  // namespace holdfast::topology
