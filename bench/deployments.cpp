#include "deployments.hpp"

namespace holdfast::bench {

call_counts calls_of_all(std::vector<test::redis_server const*> const& servers) {
  call_counts sum;
  for (auto const* server : servers) {
    for (auto const& [command, calls] : server->raw().command_counts()) {
      sum[command] += static_cast<std::int64_t>(calls);
    }
  }
  return sum;
}

}  // namespace holdfast::bench
