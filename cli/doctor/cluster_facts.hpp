/// Collects the facts about a cluster for `holdfast doctor`.
#pragma once

#include "doctor/cluster.hpp"
#include "probe/named_servers.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks the hosts of the URL for the nodes, then each node. Failures are part of the facts.
[[nodiscard]] cluster_facts examine_cluster(probe::named_servers const& deployment, std::string_view lock);

}  // namespace holdfast::cli
