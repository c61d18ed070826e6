#include "doctor/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace holdfast::cli {
namespace {

using health = cluster_node::health;

constexpr std::size_t slot_count = 16384;
constexpr auto no_majority = "with fewer than 3 masters the loss of one leaves no majority to replace it";

bool serves(cluster_node const& node) { return node.is_master && !node.slots.empty(); }

std::vector<finding> check_hosts(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& host : facts.hosts) {
    finding found{.check = "hosts", .servers = {to_string(host.name)}};
    if (host.failure.empty()) {
      found.found = "answers";
    } else if (!host.in_cluster) {
      found.level = severity::problem;
      found.found = host.failure;
      found.why = "it is not in a cluster, so it knows no slots to find locks by";
      found.advice = "for a server alone write redis:// (rediss:// with TLS) and this server";
    } else {
      found.level = facts.nodes.empty() ? severity::problem : severity::warning;
      found.found = host.failure;
      found.why = "clients that start ask those in the URL where the others are";
      found.advice =
          "check host and port, user and password, and that it runs; several hosts in the URL help";
    }
    findings.push_back(std::move(found));
  }
  return findings;
}

std::vector<finding> check_state(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& view : facts.views) {
    if (!view.failure.empty()) continue;
    finding found{
        .check = "state", .found = "cluster_state " + view.state, .servers = {to_string(view.name)}};
    if (view.state != "ok") {
      found.level = severity::problem;
      found.why = "it refuses all locks (CLUSTERDOWN)";
      found.advice = "see slots and nodes; a node that is cut off from the majority comes back by itself";
    }
    findings.push_back(std::move(found));
  }
  return findings;
}

finding check_slots(cluster_facts const& facts) {
  std::array<bool, slot_count> served{};
  for (auto const& node : facts.nodes) {
    if (!node.is_master || node.condition == health::failed) continue;
    for (auto const& [first, last] : node.slots) {
      for (std::size_t slot = first; slot <= last && slot < slot_count; ++slot) served[slot] = true;
    }
  }
  auto const missing = std::ranges::count(served, false);
  if (missing == 0) return {.check = "slots", .found = fmt::format("all {} are served", slot_count)};
  auto const first = std::ranges::find(served, false) - served.begin();
  return {"slots", severity::problem,
          fmt::format("{} of {} are served by nobody, slot {} is the first", missing, slot_count, first),
          "nobody gets locks whose names fall into them (CLUSTERDOWN), nor any others while full coverage is "
          "required",
          "bring back the node that had them, or give them to another node: redis-cli --cluster fix"};
}

std::vector<finding> check_nodes(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& node : facts.nodes) {
    auto const bad = node.condition == health::failed || node.condition == health::suspected;
    finding found{.check = "nodes", .found = "seen by the others", .servers = {to_string(node.name)}};
    if (bad) {
      found.level = serves(node) && node.condition == health::failed ? severity::problem : severity::warning;
      found.found = fmt::format("{} that {}", serves(node) ? "a master with slots" : "a node",
                                node.condition == health::failed ? "has failed" : "may have failed");
      found.why = serves(node) ? "its locks can't be had until a replica takes its place"
                               : "if the nodes that are left fail, too, no node can take their place";
      found.advice =
          "start it, or CLUSTER FORGET it at all others; CLUSTER FAILOVER on a replica takes its place";
    } else if (node.condition == health::without_address) {
      found.level = severity::warning;
      found.found = fmt::format("node {} has no address (yet)", node.id);
      found.why = "clients can't reach it";
      found.advice = "if it stays so: CLUSTER MEET it again, with the bus port open, or CLUSTER FORGET it";
    }
    findings.push_back(std::move(found));
  }
  return findings;
}

std::vector<finding> check_addresses(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& server : facts.servers) {
    if (!server.facts) findings.push_back(unreachable_at("addresses", server, severity::problem));
  }
  if (findings.empty())
    findings.push_back({.check = "addresses", .found = "all are reached where they say that they are"});
  return findings;
}

std::vector<finding> check_stand_by(cluster_facts const& facts) {
  std::vector<finding> findings;
  std::size_t masters = 0;
  for (auto const& node : facts.nodes) {
    if (!serves(node)) continue;
    ++masters;
    auto const count = std::ranges::count_if(facts.nodes, [&node](cluster_node const& other) {
      return other.master_id == node.id && other.condition == health::fine;
    });
    finding found{.check = "stand-by",
                  .found = count == 0 ? "no replica that is up"
                                      : fmt::format("{} replica{}", count, count == 1 ? "" : "s"),
                  .servers = {to_string(node.name)}};
    if (count == 0) {
      found.level = severity::warning;
      found.why = "when it is lost, its slots are served by nobody, and their locks stop";
      found.advice = "add a replica: redis-cli --cluster add-node … --cluster-slave";
    }
    findings.push_back(std::move(found));
  }
  if (masters < 3) {
    findings.push_back({"masters", severity::warning, fmt::format("{} with slots", masters), no_majority,
                        "spread the slots over 3 masters or more: redis-cli --cluster rebalance"});
  } else {
    findings.push_back({.check = "masters", .found = fmt::format("{} with slots", masters)});
  }
  return findings;
}

std::vector<finding> check_moving(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& view : facts.views) {
    for (auto const& node : view.nodes) {
      if (!node.asked_here || node.moving.empty()) continue;
      findings.push_back({"open slots",
                          severity::warning,
                          fmt::format("slot {}", listed(node.moving)),
                          "until the move is over, requests about locks there may have to wait (TRYAGAIN)",
                          "if nobody is resharding, finish the move: redis-cli --cluster fix",
                          {to_string(view.name)}});
    }
  }
  if (findings.empty()) findings.push_back({.check = "open slots", .found = "none is moving"});
  return findings;
}

/// Settings that exist in clusters only.
std::vector<finding> check_settings(cluster_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& server : facts.servers) {
    if (!server.facts) continue;
    auto const servers = std::vector<std::string>{to_string(server.name)};
    if (auto const all = setting(*server.facts, "cluster-require-full-coverage")) {
      findings.push_back({.check = "coverage",
                          .found = fmt::format("cluster-require-full-coverage {}", *all),
                          .servers = servers});
      if (*all == "yes") {
        auto& found = findings.back();
        found.level = severity::advice;
        found.why = "when some slots are served by nobody, the locks of all others stop too";
        found.advice = "CONFIG SET cluster-require-full-coverage no: it costs no safety";
      }
    }
    if (auto const ms = number_of(*server.facts, "cluster-node-timeout")) {
      findings.push_back({.check = "failover",
                          .found = fmt::format("begins when a master hasn't answered for {}",
                                               to_text(std::chrono::milliseconds{*ms})),
                          .servers = servers});
      constexpr std::int64_t too_long = 20'000;  // of a ttl of 30 s a third may be over already
      if (*ms >= too_long) {
        auto& found = findings.back();
        found.level = severity::advice;
        found.why = "a lease with the usual ttl of 30 s ends before another master can renew it";
        found.advice = "CONFIG SET cluster-node-timeout 5000, at all nodes";
      }
    }
    findings.push_back({.check = "sharded",
                        .found = "messages about a lock go to its slot's node alone",
                        .servers = servers});
    if (!server.facts->shards_messages) {
      auto& found = findings.back();
      found.level = severity::advice;
      found.found = "no sharded pub/sub (SPUBLISH)";
      found.why =
          "each message about a lock goes through all nodes, and a waiter that is gone is noticed later";
      found.advice = "use Redis 7 or newer, or Valkey";
    }
  }
  return findings;
}

}  // namespace

std::vector<finding> judge(cluster_facts const& facts) {
  auto findings = check_hosts(facts);
  if (facts.nodes.empty()) return grouped(std::move(findings));
  append(findings, check_state(facts));
  findings.push_back(check_slots(facts));
  append(findings, check_nodes(facts));
  append(findings, check_addresses(facts));
  append(findings, check_stand_by(facts));
  append(findings, check_moving(facts));
  append(findings, check_settings(facts));
  append(findings, check_likeness(facts.servers));
  return with_each_server(std::move(findings), facts.servers);
}

}  // namespace holdfast::cli
