/// Finding out what `holdfast doctor` judges of a master that sentinels watch.
#pragma once

#include "doctor_sentinel.hpp"
#include "server_place.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks all sentinels, those too of which the URL knows nothing, and then the master and its replicas. What
/// can't be asked is part of the facts.
[[nodiscard]] sentinel_facts examine_sentinels(server_place const& where, std::string_view lock);

}  // namespace holdfast::cli
