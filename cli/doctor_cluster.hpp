/// What `holdfast doctor` makes of a cluster: from what was found out, by no I/O.
#pragma once

#include "doctor_servers.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::cli {

/// A node, as one of them describes it.
struct cluster_node {
  enum class health : std::uint8_t { fine, suspected, failed, without_address };
  std::string id{};
  address name{};  ///< as it is told to clients
  bool is_master = true;
  bool asked_here = false;  ///< it's the one that describes
  health how = health::fine;
  std::string master_id{};
  std::vector<slot_range> slots{};
  std::vector<std::string> moving{};  ///< slots on their way: "93 from …", known of itself alone
};

/// Reads CLUSTER NODES; what can't be read is left out.
[[nodiscard]] std::vector<cluster_node> read_nodes(std::string_view text);

/// What one node says of the cluster and of itself.
struct cluster_view {
  address name{};
  std::string failure{};          ///< why it can't be asked, or what it refused; empty: it answered
  std::error_code failed_with{};  ///< none: what came back was an answer
  bool in_cluster = true;
  std::string state{};  ///< "ok", "fail"
  std::vector<cluster_node> nodes{};
};

struct cluster_facts {
  std::vector<cluster_view> hosts{};  ///< those that the URL names
  std::vector<cluster_node> nodes{};  ///< as one of these describes them; none: nobody does
  std::vector<cluster_view> views{};  ///< of each node that should be up
  std::vector<examined> servers{};    ///< the same nodes
};

[[nodiscard]] std::vector<finding> judge(cluster_facts const&);

}  // namespace holdfast::cli
