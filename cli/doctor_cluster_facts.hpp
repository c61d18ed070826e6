/// Finding out what `holdfast doctor` judges of a cluster.
#pragma once

#include "doctor_cluster.hpp"
#include "server_place.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks those that the URL names for the nodes, and then each of them. What can't be asked is part of the
/// facts.
[[nodiscard]] cluster_facts examine_cluster(server_place const& where, std::string_view lock);

}  // namespace holdfast::cli
