/// Which node of a cluster serves which hash slots, as a node tells it. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::topology {

/// A node as the cluster announces it.
struct node_address {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(node_address const&, node_address const&) = default;
};

/// Slots next to each other with one master.
struct slot_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  node_address master{};
  std::vector<node_address> replicas{};
};

/// Reads the answer to CLUSTER SLOTS. A node that doesn't say its host (or says "?") is at `asked`, the host
/// that answers. Nothing when that is no such answer.
[[nodiscard]] std::optional<std::vector<slot_range>> read_slots(resp::reply const& said,
                                                                std::string const& asked);

/// From CLUSTER INFO: how the node that answers sees the cluster.
struct cluster_health {
  bool ok = true;           ///< it serves requests; a node that is cut off from the majority doesn't
  std::uint64_t epoch = 0;  ///< counts changes of masters: who knows of fewer is behind
};

/// What isn't there (a node that doesn't let us ask) counts as fine.
[[nodiscard]] cluster_health read_health(resp::reply const& info);

/// The first slot that no range has; none when all are served.
[[nodiscard]] std::optional<std::uint16_t> first_unserved(std::vector<slot_range> const& ranges);

}  // namespace holdfast::topology
