/// The kind of deployment that a URL names.
#pragma once

#include <cstdint>

namespace holdfast::probe {

enum class deployment_kind : std::uint8_t { single, sentinel, cluster, quorum, etcd };

}  // namespace holdfast::probe
