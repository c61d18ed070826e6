/// The list of what `holdfast doctor` checks about one server, alone or as a part of a deployment.
#pragma once

#include "doctor/checks.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::cli {

/// The role of a server in its deployment.
enum class server_duty : std::uint8_t {
  serving,   ///< it grants locks
  stand_by,  ///< a replica: it serves after the loss of its master
  spare,     ///< a cluster's master without slots
};

struct server_check {
  enum class condition : std::uint8_t {
    always,
    while_serving,
    on_stand_by,
    with_scope,  ///< the rights to some names are examined
  };
  finding (*run)(server_facts const&);
  condition applies = condition::always;
};

/// In the order of the report.
[[nodiscard]] std::span<server_check const> server_checks() noexcept;
[[nodiscard]] bool concerns(server_check const&, server_facts const&, server_duty) noexcept;

/// All findings about a server that is no part of others, in the order of the checks.
[[nodiscard]] std::vector<finding> judge(server_facts const&);

}  // namespace holdfast::cli
