/// Facts that the doctor may collect, for tests of its judgement.
#pragma once

#include "doctor/servers.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace probe = holdfast::probe;  // for tests outside of holdfast

inline constexpr auto healthy_info =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n# Memory\r\nused_memory:1048576\r\n"
    "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\nrdb_last_bgsave_status:ok\r\n"
    "aof_enabled:1\r\naof_last_write_status:ok\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
    "master_repl_offset:1000\r\n";

/// The facts of a server without problems.
inline cli::server_facts healthy(std::string const& more_info = {}) {
  using namespace std::chrono_literals;
  cli::server_facts facts{.url = "redis://host", .user = "default"};
  facts.pings = {80us, 90us, 100us};
  facts.info.value = cli::info_text{healthy_info + more_info};
  facts.config.value = {
      {"save", ""},
      {"appendfsync", "always"},
      {"min-replicas-to-write", "0"},
      {"timeout", "0"},
      {"client-output-buffer-limit", "normal 0 0 0 slave 1 1 60 pubsub 33554432 8388608 60"}};
  facts.rights = {{.rule = "+get"}, {.rule = "+set"}};
  facts.writes.value = true;
  facts.scripts.value = true;
  facts.compare.value = "";
  facts.messages.value = true;
  facts.clock.value = cli::clock_facts{.local = 1500ms, .server = 1500ms, .doubt = 100us};
  facts.keys.value = cli::key_facts{.keys = 7, .sampled = 7};
  return facts;
}

/// A server of a deployment that could be asked.
inline cli::examined reachable(std::uint16_t const port, cli::server_facts facts,
                               cli::server_duty const duty = cli::server_duty::serving) {
  return {.duty = duty, .name = {"10.0.0.1", port}, .facts = std::move(facts)};
}

/// A server of a deployment that couldn't be asked.
inline cli::examined unreachable(std::uint16_t const port,
                                 cli::server_duty const duty = cli::server_duty::serving) {
  return {.duty = duty,
          .name = {"10.0.0.1", port},
          .failure = "connection refused",
          .failed_with = make_error_code(errc::unreachable)};
}

/// The worst finding of `check`; without a finding, an empty one.
inline cli::finding worst(std::vector<cli::finding> const& findings, std::string_view const check) {
  cli::finding result;
  for (auto const& entry : findings) {
    if (entry.check == check && (result.check.empty() || entry.level > result.level)) result = entry;
  }
  return result;
}

}  // namespace holdfast::test
