/// What `holdfast doctor` makes of a master that sentinels watch: from what was found out, by no I/O.
#pragma once

#include "doctor_servers.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::cli {

/// What one sentinel says.
struct sentinel_view {
  address name{};
  bool in_url = true;                      ///< else another sentinel told of it
  std::string failure{};                   ///< why it can't be asked, or what it refused; empty: it answered
  std::error_code failed_with{};           ///< none: what came back was an answer
  bool is_sentinel = true;                 ///< false: it keeps data, say
  std::optional<address> master{};         ///< empty: it doesn't know that name
  std::vector<std::string> other_names{};  ///< of masters that it knows instead
  known<std::string> check{};              ///< SENTINEL CKQUORUM
  std::int64_t others = 0;                 ///< sentinels besides itself
  std::int64_t quorum = 0;                 ///< that must agree that the master is down
  std::int64_t down_after_ms = 0;
};

struct sentinel_facts {
  std::string master_name{};
  std::vector<sentinel_view> sentinels{};
  /// The one that most name, and its replicas; none when nobody names one.
  std::vector<examined> servers{};
};

/// The master that most sentinels name; of several named as often the first.
[[nodiscard]] std::optional<address> agreed_master(std::vector<sentinel_view> const&);

[[nodiscard]] std::vector<finding> judge(sentinel_facts const&);

}  // namespace holdfast::cli
