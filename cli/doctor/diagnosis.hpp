/// The findings about a deployment of any kind.
#pragma once

#include "doctor/checks.hpp"
#include "probe/named_servers.hpp"

#include <string>
#include <system_error>
#include <vector>

namespace holdfast::cli {

struct diagnosis {
  std::vector<finding> findings{};
  std::error_code failed_with{};  ///< no server could be asked
};

/// Examines all servers of the deployment, which takes about two seconds. `lock`: as for examine().
[[nodiscard]] diagnosis examine_deployment(probe::named_servers const& deployment, std::string const& lock);

}  // namespace holdfast::cli
