/// Which node of a cluster serves which hash slots, read from a node's reply. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/server_address.hpp"
#include "resp/reply.hpp"

namespace holdfast::topology {

/// Adjacent slots with one master.
struct slot_range {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  net::server_address master{};
  std::vector<net::server_address> replicas{};
};

/// Reads the reply to CLUSTER SLOTS. A node listed without a host (or as "?") is at `asked`, the host that
/// replied. Nullopt: not a valid reply.
[[nodiscard]] std::optional<std::vector<slot_range>> read_slots(resp::reply const& reply,
                                                                std::string const& asked);

/// The state of the cluster as one node sees it, from CLUSTER INFO.
struct cluster_health {
  bool ok = true;           ///< the node serves requests; not if it is cut off from the majority
  std::uint64_t epoch = 0;  ///< counts changes of masters: a node with a smaller number is behind
};

/// A missing field counts as fine: the node may not permit the command.
[[nodiscard]] cluster_health read_health(resp::reply const& info);

/// The first slot outside all ranges; nullopt when all are served.
[[nodiscard]] std::optional<std::uint16_t> first_unserved(std::vector<slot_range> const& ranges);

}  // namespace holdfast::topology
