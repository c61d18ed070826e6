/// The judgement of `holdfast doctor` about a master that sentinels watch: from facts to findings, without
/// I/O.
#pragma once

#include "doctor/servers.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::cli {

/// The description of the deployment by one sentinel.
struct sentinel_view {
  probe::server_address name{};
  bool in_url = true;             ///< else another sentinel named it
  std::string failure{};          ///< why it can't be asked, or its refusal; empty: it answered
  std::error_code failed_with{};  ///< none: there was a reply
  bool is_sentinel = true;        ///< false: a server with data, for example
  std::optional<probe::server_address> master{};  ///< empty: the name is unknown to it
  std::vector<std::string> other_names{};         ///< names of other masters that it knows
  known<std::string> check{};                     ///< SENTINEL CKQUORUM
  std::int64_t others = 0;                        ///< the number of other sentinels
  std::int64_t quorum = 0;                        ///< how many must agree that the master is down
  std::int64_t down_after_ms = 0;
};

struct sentinel_facts {
  std::string master_name{};
  std::vector<sentinel_view> sentinels{};
  /// The master that most sentinels name, and its replicas; empty if none is named.
  std::vector<examined> servers{};
};

/// The master that most sentinels name; on a tie the first.
[[nodiscard]] std::optional<probe::server_address> agreed_master(std::vector<sentinel_view> const&);

[[nodiscard]] std::vector<finding> judge(sentinel_facts const&);

}  // namespace holdfast::cli
