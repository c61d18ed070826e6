/// The judgement of `holdfast doctor` about a cluster of etcd, without I/O.
#pragma once

#include "doctor/checks.hpp"
#include "probe/etcd_members.hpp"

#include <string>
#include <system_error>
#include <vector>

namespace holdfast::cli {

struct etcd_facts {
  probe::etcd_members members{};
  std::string keys{};  ///< what the keys begin with that this user needs; empty: it needs all
};

[[nodiscard]] std::vector<finding> judge(etcd_facts const&);

/// Set: nobody can use the cluster so, whatever else is wrong.
[[nodiscard]] std::error_code failure_of(etcd_facts const&);

}  // namespace holdfast::cli
