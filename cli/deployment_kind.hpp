/// What the servers of a URL are to each other.
#pragma once

#include <cstdint>

namespace holdfast::cli {

enum class deployment_kind : std::uint8_t { single, sentinel, cluster, quorum };

}  // namespace holdfast::cli
