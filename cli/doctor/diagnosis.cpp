#include "doctor/diagnosis.hpp"

#include "doctor/cluster_facts.hpp"
#include "doctor/etcd_facts.hpp"
#include "doctor/facts.hpp"
#include "doctor/quorum_facts.hpp"
#include "doctor/sentinel_facts.hpp"
#include "doctor/server_checks.hpp"

#include <holdfast/error.hpp>

#include <algorithm>

namespace holdfast::cli {
namespace {

diagnosis of_single(probe::named_servers const& deployment, std::string const& lock) {
  try {
    return {.findings = judge(examine(*deployment.to_server(), lock, probe::deployment_kind::single))};
  } catch (error const& problem) {
    return {{unreachable_finding(problem)}, problem.code()};
  }
}

/// The first error if all requests failed; else none.
template <class Asked>
std::error_code common_failure(std::vector<Asked> const& all) {
  auto const failed = [](Asked const& server) { return static_cast<bool>(server.failed_with); };
  return !all.empty() && std::ranges::all_of(all, failed) ? all.front().failed_with : std::error_code{};
}

diagnosis of_sentinels(probe::named_servers const& deployment, std::string const& lock) {
  auto const facts = examine_sentinels(deployment, lock);
  auto const all_failed = common_failure(facts.sentinels);
  return {judge(facts), all_failed ? all_failed : common_failure(facts.servers)};
}

diagnosis of_cluster(probe::named_servers const& deployment, std::string const& lock) {
  auto const facts = examine_cluster(deployment, lock);
  auto const all_failed = common_failure(facts.hosts);
  return {judge(facts), all_failed ? all_failed : common_failure(facts.servers)};
}

diagnosis of_quorum(probe::named_servers const& deployment, std::string const& lock) {
  auto const facts = examine_quorum(deployment, lock);
  return {judge(facts), common_failure(facts.servers)};
}

diagnosis of_etcd(probe::named_servers const& deployment, std::string const& lock) {
  auto const facts = examine_etcd(deployment, lock);
  return {judge(facts), failure_of(facts)};
}

}  // namespace

diagnosis examine_deployment(probe::named_servers const& deployment, std::string const& lock) {
  switch (deployment.kind()) {
    case probe::deployment_kind::sentinel:
      return of_sentinels(deployment, lock);
    case probe::deployment_kind::cluster:
      return of_cluster(deployment, lock);
    case probe::deployment_kind::quorum:
      return of_quorum(deployment, lock);
    case probe::deployment_kind::etcd:
      return of_etcd(deployment, lock);
    case probe::deployment_kind::single:
      break;
  }
  return of_single(deployment, lock);
}

}  // namespace holdfast::cli
