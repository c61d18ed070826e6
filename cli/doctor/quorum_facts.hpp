/// Collects the facts about independent masters that vote for `holdfast doctor`.
#pragma once

#include "doctor/quorum.hpp"
#include "probe/named_servers.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks all servers of the URL. Failures are part of the facts.
[[nodiscard]] quorum_facts examine_quorum(probe::named_servers const& deployment, std::string_view lock);

}  // namespace holdfast::cli
