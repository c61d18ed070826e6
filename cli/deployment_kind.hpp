/// The kind of deployment that a URL names.
#pragma once

#include <cstdint>

namespace holdfast::cli {

enum class deployment_kind : std::uint8_t { single, sentinel, cluster, quorum };

}  // namespace holdfast::cli
