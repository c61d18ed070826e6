/// The judgement of `holdfast doctor` about a cluster: from facts to findings, without I/O.
#pragma once

#include "doctor/servers.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::cli {

/// A node, as one node of the cluster describes it.
struct cluster_node {
  enum class health : std::uint8_t { fine, suspected, failed, without_address };
  std::string id{};
  probe::server_address name{};  ///< as announced to clients
  bool is_master = true;
  bool asked_here = false;  ///< the node that gave the description
  health condition = health::fine;
  std::string master_id{};
  std::vector<probe::slot_range> slots{};
  std::vector<std::string> moving{};  ///< slots that are moving: "93 from …"; each node knows only its own
};

/// Parses CLUSTER NODES; skips lines that can't be parsed.
[[nodiscard]] std::vector<cluster_node> read_nodes(std::string_view text);

/// The description of the cluster by one node.
struct cluster_view {
  probe::server_address name{};
  std::string failure{};          ///< why the node can't be asked, or its refusal; empty: it answered
  std::error_code failed_with{};  ///< none: there was a reply
  bool in_cluster = true;
  std::string state{};  ///< "ok", "fail"
  std::vector<cluster_node> nodes{};
};

struct cluster_facts {
  std::vector<cluster_view> hosts{};  ///< the nodes that the URL names
  std::vector<cluster_node> nodes{};  ///< as described by one of the hosts; empty: none did
  std::vector<cluster_view> views{};  ///< the view of each node that should be up
  std::vector<examined> servers{};    ///< the same nodes
};

[[nodiscard]] std::vector<finding> judge(cluster_facts const&);

}  // namespace holdfast::cli
