/// Collects the facts about a master that sentinels watch for `holdfast doctor`.
#pragma once

#include "doctor/sentinel.hpp"
#include "probe/named_servers.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks all sentinels, including those that the URL lacks, then the master and its replicas. Failures are
/// part of the facts.
[[nodiscard]] sentinel_facts examine_sentinels(probe::named_servers const& deployment, std::string_view lock);

}  // namespace holdfast::cli
