/// What the tests of Holdfast beside Redisson share where there are several servers: both on all of them, and
/// signs of who waits there.
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
  for (auto const& one : servers) {
    if (one->runs()) running.push_back(one.get());
  }
  return running;
}

/// Where messages about a lock go: in a cluster to the shard of the lock.
[[nodiscard]] constexpr std::string_view count_of_subscribers(cluster_servers const&) {
  return "SHARDNUMSUB";
}
template <class Servers>
[[nodiscard]] constexpr std::string_view count_of_subscribers(Servers const&) {
  return "NUMSUB";
}

/// Skipped where Redisson's peers aren't there; `Other` is what else a test has as its parameter.
template <class Servers, class Parameter>
class redisson_on : public testing::TestWithParam<Parameter> {
 protected:
  [[nodiscard]] virtual redisson_version version() const = 0;

  void SetUp() override {
    if (!peer::is_prepared(folder_of(version()))) GTEST_SKIP() << not_prepared;
  }

  /// So many processes listen on the channel at each master that has to do with it, and sleep.
  [[nodiscard]] bool listen(std::string const& channel, std::int64_t processes = 1) {
    return are_subscribed(channel, processes) && all_is_quiet();
  }

  /// So many processes listen, whether or not they ask meanwhile.
  [[nodiscard]] bool are_subscribed(std::string const& channel, std::int64_t processes = 1) {
    return eventually(patience, [&] { return fewest_subscribers(channel) >= processes; });
  }

  /// Nobody looks for its lock any more: who waits, sleeps.
  [[nodiscard]] bool all_is_quiet() {
    return eventually(patience, [&] {
      auto const before = scripts_run();
      return always(300ms, [&] { return scripts_run() == before; });
    });
  }

  /// Of all masters, less what stays on purpose.
  [[nodiscard]] std::vector<std::string> keys() {
    std::vector<std::string> all;
    for (auto* const master : masters_of(servers_)) {
      for (auto& key : master->raw().keys()) all.push_back(std::move(key));
    }
    std::erase_if(all, [](auto const& key) {
      return key.starts_with("redisson_unlock_latch:") || outlives_locks(key);
    });
    return all;
  }

  Servers servers_;
  std::string url_ = servers_.url() + "?wire=redisson";
  client redis_{url_};
  client listening_{url_,
                    {.recheck = 30s}};  ///< wakes by messages: what it would see by itself comes too late

 private:
  [[nodiscard]] std::int64_t fewest_subscribers(std::string const& channel) {
    std::vector<std::int64_t> counts;
    for (auto* const master : masters_of(servers_)) {
      auto const reply =
          master->raw().command({"PUBSUB", std::string{count_of_subscribers(servers_)}, channel});
      counts.push_back(reply.elements.at(1).integer);
    }
    if constexpr (std::is_same_v<Servers, cluster_servers>) return *std::ranges::max_element(counts);
    return *std::ranges::min_element(counts);
  }

  /// Servers talk with each other, too; locks are taken and given back by scripts only.
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
