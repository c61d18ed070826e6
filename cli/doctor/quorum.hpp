/// The judgement of `holdfast doctor` about independent masters that vote: from facts to findings, without
/// I/O.
#pragma once

#include "doctor/servers.hpp"

#include <vector>

namespace holdfast::cli {

struct quorum_facts {
  std::vector<examined> servers{};
};

[[nodiscard]] std::vector<finding> judge(quorum_facts const&);

}  // namespace holdfast::cli
