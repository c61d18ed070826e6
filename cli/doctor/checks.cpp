#include "doctor/checks.hpp"

#include "base/whole_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

std::string_view name_of(probe::transport_kind const connection) {
  switch (connection) {
    case probe::transport_kind::plain:
      return "TCP without TLS";
    case probe::transport_kind::tls:
      return "TLS";
    case probe::transport_kind::local:
      break;
  }
  return "a local socket";
}

}  // namespace

std::string to_text(microseconds const time) {
  auto const micros = static_cast<double>(time.count());
  if (time < 1ms) return fmt::format("{} µs", time.count());
  if (time < 1s) return fmt::format("{:.1f} ms", micros / 1e3);
  return fmt::format("{:.1f} s", micros / 1e6);
}

std::string_view to_string(severity const level) noexcept {
  switch (level) {
    case severity::ok:
      return "ok";
    case severity::advice:
      return "advice";
    case severity::warning:
      return "warning";
    case severity::problem:
      break;
  }
  return "problem";
}

finding unknown(std::string_view const check, std::string_view const reason) {
  return {check, severity::advice, fmt::format("unknown: {}", reason),
          "it could not be checked; that alone does no harm to locks",
          "give the doctor a user with the right, or look at the server yourself"};
}

finding unreachable_finding(error const& problem) {
  std::string_view const text = problem.what();
  std::string advice = "check the URL, the network, and that the server runs";
  if (text.find("BUSY") != std::string_view::npos) {
    advice = "a script runs for too long: SCRIPT KILL ends it";
  } else if (text.find("LOADING") != std::string_view::npos) {
    advice = "wait until the server has loaded its data (INFO persistence: loading_eta_seconds)";
  } else if (problem.code() == errc::unauthorized) {
    advice = "check user and password; ACL LIST shows the users that there are";
  } else if (problem.code() == errc::protocol) {
    advice = "check host and port in the URL: another program listens there";
  }
  return {"connection", severity::problem, std::string{text}, "without the server there are no locks",
          std::move(advice)};
}

std::string server_name(info_text const& info) {
  struct kind {
    std::string_view sign;
    std::string_view name;
    std::string_view version;
  };
  static constexpr kind kinds[]{{"valkey_version", "Valkey", "valkey_version"},
                                {"dragonfly_version", "Dragonfly", "dragonfly_version"},
                                {"mvcc_depth", "KeyDB", "redis_version"},
                                {"redis_version", "Redis", "redis_version"}};
  for (auto const& [sign, name, version] : kinds) {
    if (info.has(sign)) return fmt::format("{} {}", name, info.text(version));
  }
  return {};
}

std::string_view server_mode(info_text const& info) {
  auto const mode = info.text("redis_mode");
  return mode.empty() ? info.text("server_mode") : mode;
}

finding check_latency(server_facts const& facts) {
  auto sorted = facts.pings;
  std::ranges::sort(sorted);
  auto const median = sorted.empty() ? microseconds{} : sorted[sorted.size() / 2];
  auto const worst = sorted.empty() ? microseconds{} : sorted.back();
  finding result{.check = "connection",
                 .found = fmt::format("{}{}{}; PING takes {}, at worst {} of {}", facts.url,
                                      facts.url.empty() ? "" : " over ", name_of(facts.transport),
                                      to_text(median), to_text(worst), sorted.size())};
  if (worst > 250ms) {
    result.level = severity::warning;
    result.why = "a renewal that is answered so late may come after the end of a short lease";
    result.advice =
        "look for slow commands (SLOWLOG GET) and for forks and swapping on the server; keep ttl far above "
        "it";
  } else if (median > 20ms) {
    result.level = severity::advice;
    result.why = "each acquisition and each release takes a round trip";
    result.advice = "move the server nearer to its clients";
  }
  return result;
}

finding check_version(server_facts const& facts) {
  if (!facts.info.value) return unknown("version", facts.info.refusal);
  auto const& info = *facts.info.value;
  auto const name = server_name(info);
  if (name.empty()) return unknown("version", "INFO has no version");
  finding result{.check = "version", .found = name};
  // In other servers redis_version is the version of Redis that they are compatible with.
  auto const version = info.text("redis_version");
  auto const major = whole_number(version.substr(0, version.find('.')));
  if (major && *major < 5) {
    result.level = severity::problem;
    result.why = "the scripts read the clock and write, which Redis allows since version 5";
    result.advice = "use Redis 5 or newer, or Valkey";
  } else if (!name.starts_with("Redis ") && !name.starts_with("Valkey ")) {
    result.level = severity::advice;
    result.why = "Holdfast is tested with Redis and Valkey; others differ in scripts, expiry and replication";
    result.advice = "try your workload before you rely on it";
  }
  return result;
}

finding check_mode(server_facts const& facts) {
  if (!facts.info.value) return unknown("mode", facts.info.refusal);
  auto const mode = server_mode(*facts.info.value);
  if (mode.empty()) return unknown("mode", "INFO has neither redis_mode nor server_mode");
  finding result{.check = "mode", .level = severity::problem, .found = std::string{mode}};
  auto const in_cluster = facts.part_of == probe::deployment_kind::cluster;
  if (mode == "sentinel") {
    result.why = "a sentinel keeps no keys";
    result.advice =
        "give the sentinels and the name of the master that they watch (SENTINEL MASTERS lists them): "
        "redis+sentinel://HOST,HOST,HOST/NAME";
  } else if (mode == "cluster" && !in_cluster) {
    result.why = "a cluster's node has only some of its slots: the locks of all others it refuses";
    result.advice = facts.part_of == probe::deployment_kind::quorum
                        ? "a quorum's servers know nothing of each other: use servers that are in no cluster"
                        : "write redis+cluster:// and some of its nodes";
  } else if (mode != "cluster" && in_cluster) {
    result.why = "it is not in a cluster, so there are no slots to find locks by";
    result.advice = "write redis:// (rediss:// with TLS) and this server";
  } else {
    result.level = severity::ok;
  }
  return result;
}

finding check_role(server_facts const& facts) {
  if (!facts.info.value) return unknown("role", facts.info.refusal);
  auto const& info = *facts.info.value;
  auto const role = info.text("role");
  if (role.empty()) return unknown("role", "INFO has no role");
  if (role == "master") return {.check = "role", .found = "master"};
  auto const master = fmt::format("{}:{}", info.text("master_host"), info.text("master_port"));
  finding result{"role", severity::problem,
                 fmt::format("{}, of {} (link {})", role == "slave" ? "replica" : role, master,
                             info.text("master_link_status")),
                 "a replica refuses to take locks, and what it knows of them is late"};
  switch (facts.part_of) {
    case probe::deployment_kind::single:
      result.advice = fmt::format(
          "give the URL of the master, {}, or those of its sentinels: redis+sentinel://HOST,HOST,HOST/NAME",
          master);
      break;
    case probe::deployment_kind::etcd:
    case probe::deployment_kind::sentinel:
    case probe::deployment_kind::cluster:
      result.advice =
          "it was named as a master: run the doctor again when the failover is over; otherwise correct the "
          "server that names it";
      break;
    case probe::deployment_kind::quorum:
      result.advice = "a quorum's servers know nothing of each other: REPLICAOF NO ONE, or leave it out";
      break;
  }
  return result;
}

finding check_keys(server_facts const& facts) {
  if (!facts.keys.value) return unknown("keys", facts.keys.refusal);
  auto const& keys = *facts.keys.value;
  return {
      .check = "keys",
      .found = fmt::format("keys: {}; among {} of them, token counters: {}, queues: {}, client records: {}",
                           keys.keys, keys.sampled, keys.counters, keys.queues, keys.clients)};
}

}  // namespace holdfast::cli
