#include "doctor/etcd.hpp"

#include "doctor/servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace etcd_checks {
namespace {

using members = std::vector<etcd::member_view>;

members answering(etcd_facts const& facts) {
  members all;
  std::ranges::copy_if(facts.members.cluster.endpoints, std::back_inserter(all),
                       [](auto const& member) { return member.failure.empty(); });
  return all;
}

std::vector<finding> check_endpoints(etcd_facts const& facts) {
  auto const& all = facts.members.cluster.endpoints;
  auto const up = answering(facts).size();
  std::vector<finding> findings;
  findings.reserve(all.size() + 1);
  for (auto const& each : all) {
    if (each.failure.empty()) continue;
    findings.push_back({"endpoints",
                        up == 0 || each.not_etcd ? severity::problem : severity::warning,
                        "can't be asked: " + each.failure,
                        each.not_etcd ? "what answers there isn't an etcd with the API v3"
                                      : "one of the others is asked, as long as one is there",
                        each.not_etcd ? "correct host and port" : "start it, or correct the URL",
                        {each.endpoint}});
  }
  if (up != 0)
    findings.push_back({.check = "endpoints", .found = fmt::format("{} of {} answer", up, all.size())});
  return findings;
}

/// Major, minor and patch; what can't be read is 0.
std::array<int, 3> parts_of(std::string const& version) {
  std::array<int, 3> parts{};
  (void)std::sscanf(version.c_str(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
  return parts;
}

bool too_old(std::array<int, 3> const& version) { return version < std::array{3, 4, 0}; }

/// etcd's issue 15247.
bool ends_leases_wrongly(std::array<int, 3> const& version) {
  return version < std::array{3, 4, 31} || (version >= std::array{3, 5, 0} && version < std::array{3, 5, 13});
}

std::vector<finding> check_versions(members const& up) {
  std::map<std::string, std::vector<std::string>> by_version;
  for (auto const& each : up) by_version[each.version].push_back(each.endpoint);
  std::vector<finding> findings;
  for (auto const& [version, endpoints] : by_version) {
    finding next{.check = "version", .found = "etcd " + version, .servers = endpoints};
    auto const parts = parts_of(version);
    if (too_old(parts)) {
      next.level = severity::problem;
      next.why = "Holdfast uses conditions on ranges and numbered watches, which came with 3.4";
      next.advice = "update it to 3.4 or later";
    } else if (ends_leases_wrongly(parts)) {
      next.level = severity::warning;
      next.why =
          "a leader that stood still while another one was elected may end leases that are kept alive, "
          "when it goes on: two holders are possible (docs/guarantees.md)";
      next.advice = "update it to 3.4.31, 3.5.13 or later";
    } else if (by_version.size() > 1) {
      next.level = severity::advice;
      next.why = "members of several versions are meant for the time of an update";
      next.advice = "finish it";
    }
    findings.push_back(std::move(next));
  }
  return findings;
}

finding check_cluster(members const& up) {
  std::map<std::uint64_t, std::vector<std::string>> by_cluster;
  for (auto const& each : up) by_cluster[each.cluster].push_back(each.endpoint);
  if (by_cluster.size() == 1)
    return {.check = "cluster",
            .found = fmt::format("all are of the cluster {:x}", by_cluster.begin()->first)};
  std::string found;
  for (auto const& [cluster, endpoints] : by_cluster)
    found += fmt::format("{}{} of {:x}", found.empty() ? "" : ", ", listed(endpoints), cluster);
  return {"cluster", severity::problem, found,
          "two clusters don't know each other's locks, so Holdfast refuses such a URL",
          "name members of one cluster"};
}

std::vector<finding> check_leader(members const& up) {
  std::vector<finding> findings;
  std::set<std::uint64_t> leaders;
  for (auto const& each : up) {
    leaders.insert(each.leader);
    if (each.leader != 0) continue;
    findings.push_back({"leader",
                        severity::problem,
                        "it knows no leader",
                        "without a majority nobody gets a lock, and no lease ends or is extended",
                        "start the other members (etcdctl endpoint status --cluster), or mend the network",
                        {each.endpoint}});
  }
  if (leaders.size() > 1 && !leaders.contains(0)) {
    findings.push_back({"leader", severity::warning, "the members name several",
                        "there is an election, or one of them is cut off",
                        "run the doctor again in a second"});
  }
  if (!findings.empty()) return findings;
  auto const name = std::ranges::find(up, up.front().leader, &etcd::member_view::id);
  return {{.check = "leader",
           .found = fmt::format("{}, in term {}",
                                name != up.end() ? name->endpoint : fmt::format("{:x}", up.front().leader),
                                up.front().term)}};
}

std::vector<finding> check_members(etcd_facts const& facts, members const& up) {
  auto const& cluster = facts.members.cluster;
  if (!cluster.members_unknown.empty()) return {unknown("members", cluster.members_unknown)};
  auto const voters = std::ranges::count(cluster.members, false, &etcd::listed_member::learner);
  finding size{.check = "members",
               .found = fmt::format("{} that vote, of which {} may be lost", voters, (voters - 1) / 2)};
  if (voters < 3) {
    size.level = severity::warning;
    size.why = "when one is lost there is no majority, and nobody gets a lock";
    size.advice = "use 3 or 5 members, on machines of their own";
  } else if (voters % 2 == 0) {
    size.level = severity::warning;
    size.why = "an even number survives no more losses than one fewer";
    size.advice = "add one, or remove one";
  }
  std::vector<finding> findings{std::move(size)};
  std::vector<std::string> learners;
  for (auto const& each : up) {
    if (each.learner) learners.push_back(each.endpoint);
  }
  if (!learners.empty()) {
    findings.push_back({"members", severity::warning, "a learner, which has no vote yet and refuses requests",
                        "its clients wait until another one is asked",
                        "leave it out of the URL until it votes", learners});
  }
  auto const named = std::ranges::count_if(cluster.members, [&](auto const& listed) {
    return std::ranges::find(up, listed.id, &etcd::member_view::id) != up.end();
  });
  auto const silent =
      std::ranges::count_if(cluster.endpoints, [](auto const& each) { return !each.failure.empty(); });
  if (named + silent < std::ssize(cluster.members) && named + silent < 3) {
    findings.push_back({"members", severity::advice,
                        fmt::format("the URL names {} of {}", named + silent, cluster.members.size()),
                        "those that it doesn't name are never asked, so locks go with the ones that it names",
                        "name all of them, or three"});
  }
  return findings;
}

std::vector<finding> check_alarms(etcd_facts const& facts) {
  auto const& cluster = facts.members.cluster;
  if (!cluster.alarms_unknown.empty()) return {unknown("alarms", cluster.alarms_unknown)};
  std::vector<finding> findings;
  for (auto const& each : cluster.alarms) {
    auto const named = std::ranges::find(cluster.endpoints, each.member, &etcd::member_view::id);
    auto const server = named != cluster.endpoints.end() ? named->endpoint : fmt::format("{:x}", each.member);
    if (each.type == etcd::alarm_view::kind::no_space) {
      findings.push_back({"alarms",
                          severity::problem,
                          "NOSPACE: the quota of its database is exceeded",
                          "etcd refuses to write keys and to grant leases, so nobody gets a lock",
                          "etcdctl compact REVISION, etcdctl defrag, then etcdctl alarm disarm; a larger "
                          "--quota-backend-bytes, or --auto-compaction-retention",
                          {server}});
    } else {
      findings.push_back(
          {"alarms",
           severity::problem,
           each.type == etcd::alarm_view::kind::corrupt ? "CORRUPT: its data differs from that of others"
                                                        : "an alarm of a kind that isn't known here",
           "what it says of locks may be wrong",
           "replace that member (etcdctl member remove, member add), then etcdctl alarm disarm",
           {server}});
    }
  }
  if (findings.empty()) findings.push_back({.check = "alarms", .found = "none"});
  return findings;
}

finding check_space(members const& up) {
  constexpr std::int64_t mib = 1 << 20;
  auto const largest = std::ranges::max_element(up, {}, &etcd::member_view::size);
  return {.check = "space",
          .found = fmt::format("{} MiB on disk, {} of them in use", (largest->size + mib - 1) / mib,
                               (largest->size_in_use + mib - 1) / mib)};
}

/// For etcdctl role grant-permission.
std::string rule(std::string const& keys) {
  return fmt::format("etcdctl role grant-permission ROLE readwrite --prefix=true \"{}\"", keys);
}

finding check_rights(etcd_facts const& facts) {
  auto const& [cluster, refusal, failure, took] = facts.members;
  if (failure) return unknown("rights", failure->what());
  auto const keys =
      facts.keys.empty() ? std::string{"all keys"} : fmt::format("keys that begin with \"{}\"", facts.keys);
  if (!refusal) return {.check = "rights", .found = "may read, write and delete " + keys};
  return {"rights", severity::problem, refusal->what(),
          "each lock is a key that its holder writes and deletes",
          rule(facts.keys) + ", and a user with that role in the URL"};
}

finding check_latency(std::chrono::microseconds took) {
  using namespace std::chrono_literals;
  finding result{.check = "latency", .found = to_text(took) + " for what a majority writes down"};
  if (took < 500ms) return result;
  result.level = severity::warning;
  result.why = "each lock takes one such request, and a short ttl may be over before it is renewed";
  result.advice = "give etcd disks of its own, near to each other (etcdctl check perf)";
  return result;
}

}  // namespace
}  // namespace etcd_checks

std::error_code failure_of(etcd_facts const& facts) {
  using etcd_checks::answering;
  auto const& endpoints = facts.members.cluster.endpoints;
  if (answering(facts).empty()) {
    auto const all = [&](auto member) { return std::ranges::all_of(endpoints, member); };
    if (all(&etcd::member_view::not_etcd)) return make_error_code(errc::protocol);
    if (all(&etcd::member_view::unauthorized)) return make_error_code(errc::unauthorized);
    return make_error_code(errc::unreachable);
  }
  auto const& refusal = facts.members.refusal;
  auto const stranger =
      refusal && std::string_view{refusal->what()}.find("permission denied") == std::string_view::npos;
  return stranger ? refusal->code() : std::error_code{};
}

std::vector<finding> judge(etcd_facts const& facts) {
  using namespace etcd_checks;
  auto findings = check_endpoints(facts);
  auto const up = answering(facts);
  if (up.empty()) return findings;
  append(findings, check_versions(up));
  findings.push_back(check_cluster(up));
  append(findings, check_leader(up));
  append(findings, check_members(facts, up));
  append(findings, check_alarms(facts));
  findings.push_back(check_space(up));
  findings.push_back(check_rights(facts));
  if (facts.members.took) findings.push_back(check_latency(*facts.members.took));
  findings.push_back({.check = "clock",
                      .found = "none is compared: etcd counts leases by itself, and tokens are revisions"});
  return findings;
}

}  // namespace holdfast::cli
