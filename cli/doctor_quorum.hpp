/// What `holdfast doctor` makes of independent masters that vote: from what was found out, by no I/O.
#pragma once

#include "doctor_servers.hpp"

#include <vector>

namespace holdfast::cli {

struct quorum_facts {
  std::vector<examined> servers{};
};

[[nodiscard]] std::vector<finding> judge(quorum_facts const&);

}  // namespace holdfast::cli
