#include "doctor/quorum_facts.hpp"

#include "doctor/facts.hpp"

#include <utility>

namespace holdfast::cli {

quorum_facts examine_quorum(probe::named_servers const& deployment, std::string_view const lock) {
  std::vector<server_to_examine> servers;
  servers.reserve(deployment.hosts().size());
  for (std::size_t i = 0; i < deployment.hosts().size(); ++i) {
    servers.push_back({server_duty::serving, deployment.hosts()[i], deployment.to_host(i)});
  }
  return {.servers = examine_all(std::move(servers), lock, probe::deployment_kind::quorum)};
}

}  // namespace holdfast::cli
