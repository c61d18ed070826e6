/// Shared by the tests of Holdfast beside Redisson on several servers: both on all of them, and checks for
/// waiters.
#pragma once

#include "beside_redisson.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

/// The servers with data that take writes now.
[[nodiscard]] inline std::vector<redis_server*> masters_of(sentinel_servers& servers) {
  return {&servers.master()};
}
[[nodiscard]] inline std::vector<redis_server*> masters_of(cluster_servers& servers) {
  return servers.masters();
}
[[nodiscard]] inline std::vector<redis_server*> masters_of(independent_servers& servers) {
  std::vector<redis_server*> running;
  for (auto const& server : servers) {
    if (server->runs()) running.push_back(server.get());
  }
  return running;
}

/// Skipped if the peers with Redisson are not built. `Parameter` is the parameter of the tests.
template <class Servers, class Parameter>
class redisson_deployment : public testing::TestWithParam<Parameter> {
 protected:
  [[nodiscard]] virtual redisson_version version() const = 0;

  void SetUp() override {
    if (!peer::is_prepared(folder_of(version()))) GTEST_SKIP() << not_prepared;
  }

  /// Whether `processes` processes listen on the channel at each master concerned, and sleep.
  [[nodiscard]] bool are_listening(std::string const& channel, std::int64_t processes = 1) {
    return are_subscribed(channel, processes) && is_idle();
  }

  /// Whether `processes` processes listen, even if they still send requests.
  [[nodiscard]] bool are_subscribed(std::string const& channel, std::int64_t processes = 1) {
    return eventually(time_limit, [&] { return fewest_subscribers(channel) >= processes; });
  }

  /// Whether a waiter of Holdfast sleeps. Half a second after it began to wait, its client opens the channel
  /// for release requests, and sends nothing more from then on.
  [[nodiscard]] bool holdfast_waiter_sleeps() {
    auto const inbox_is_open = [&] {
      return std::ranges::any_of(masters_of(servers_), [](auto* const master) {
        return !master->raw().command({"PUBSUB", "CHANNELS", "holdfast_inbox:*"}).elements.empty();
      });
    };
    return eventually(time_limit, inbox_is_open) && is_idle();
  }

  /// Whether no process checks its lock any more: all waiters sleep.
  [[nodiscard]] bool is_idle() {
    return eventually(time_limit, [&] {
      auto const before = scripts_run();
      return always(300ms, [&] { return scripts_run() == before; });
    });
  }

  /// The keys of all masters, without those that stay on purpose.
  [[nodiscard]] std::vector<std::string> keys() {
    std::vector<std::string> all;
    for (auto* const master : masters_of(servers_)) {
      auto raw = master->raw();
      for (auto& key : leftover_keys_of_both(raw)) all.push_back(std::move(key));
    }
    return all;
  }

  Servers servers_;
  std::string url_ = servers_.url() + "?wire=redisson";
  client redis_{url_};
  client listening_{url_,
                    {.recheck = 30s}};  ///< wakes by messages only: its next check by itself comes too late

 private:
  /// In a cluster, messages about a lock go to its server, or to all servers: then all of them have the
  /// listeners.
  [[nodiscard]] std::int64_t fewest_subscribers(std::string const& channel) {
    constexpr auto in_slots = std::is_same_v<Servers, cluster_servers>;
    std::vector<std::int64_t> counts;
    for (auto* const master : masters_of(servers_)) {
      auto const count = [&](std::string kind) {
        return master->raw().command({"PUBSUB", std::move(kind), channel}).elements.at(1).integer;
      };
      counts.push_back(count("NUMSUB") + (in_slots ? count("SHARDNUMSUB") : 0));
    }
    return in_slots ? *std::ranges::max_element(counts) : *std::ranges::min_element(counts);
  }

  /// Scripts only, since servers send each other commands too: locks are acquired and released by scripts
  /// only.
  [[nodiscard]] std::uint64_t scripts_run() {
    std::uint64_t all = 0;
    for (auto* const master : masters_of(servers_)) {
      auto const counts = master->raw().command_counts();
      for (auto const* const command : {"eval", "evalsha"}) {
        if (auto const found = counts.find(command); found != counts.end()) all += found->second;
      }
    }
    return all;
  }
};

}  // namespace holdfast::test
