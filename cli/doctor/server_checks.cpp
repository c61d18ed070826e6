#include "doctor/server_checks.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

/// Checks the link of a replica to its master.
finding check_link(server_facts const& facts) {
  if (!facts.info.value) return unknown("link", facts.info.refusal);
  auto const& info = *facts.info.value;
  if (info.text("role") == "master") {
    return {"link", severity::warning, "it says that it is a master",
            "it was named as a replica: a failover may be going on, or there are two masters",
            "run the doctor again; if it stays so, REPLICAOF the right master"};
  }
  auto const master = fmt::format("{}:{}", info.text("master_host"), info.text("master_port"));
  if (info.text("master_link_status") == "up") return {.check = "link", .found = "up, to " + master};
  return {"link", severity::warning,
          fmt::format("{}, to {}, for {} s", info.text("master_link_status"), master,
                      info.number("master_link_down_since_seconds").value_or(0)),
          "a failover to a replica that doesn't hear its master loses the newest locks",
          "look at the replica's log: network, masterauth, or a synchronization that never ends"};
}

using enum server_check::condition;
constexpr server_check checks[]{{check_latency},
                                {check_version},
                                {check_mode},
                                {check_role, while_serving},
                                {check_link, on_stand_by},
                                {check_rights},
                                {check_tenant, with_scope},
                                {check_writes, while_serving},
                                {check_scripts, while_serving},
                                {check_compare, while_serving},
                                {check_messages, while_serving},
                                {check_eviction},
                                {check_memory},
                                {check_persistence},
                                {check_replicas, while_serving},
                                {check_idle_timeout},
                                {check_output_buffer},
                                {check_clock},
                                {check_keys, while_serving}};

}  // namespace

std::span<server_check const> server_checks() noexcept { return checks; }

bool concerns(server_check const& check, server_facts const& facts, server_duty const duty) noexcept {
  switch (check.applies) {
    case while_serving:
      return duty == server_duty::serving;
    case on_stand_by:
      return duty == server_duty::stand_by;
    case with_scope:
      return !(facts.prefix.empty() && facts.lock.empty());
    case always:
      break;
  }
  return true;
}

std::vector<finding> judge(server_facts const& facts) {
  // The other checks do not apply to a sentinel.
  if (facts.info.value && server_mode(*facts.info.value) == "sentinel")
    return {check_latency(facts), check_version(facts), check_mode(facts)};
  std::vector<finding> findings;
  for (auto const& check : server_checks()) {
    if (concerns(check, facts, server_duty::serving)) findings.push_back(check.run(facts));
  }
  return findings;
}

}  // namespace holdfast::cli
