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

  /// One of ours waits, and sleeps. Half a second after it began to wait its client opens the channel on
  /// which it is asked for what it holds, and has no more to say from then on.
  [[nodiscard]] bool we_sleep() {
    auto const inbox_is_open = [&] {
      return std::ranges::any_of(masters_of(servers_), [](auto* const master) {
        return !master->raw().command({"PUBSUB", "CHANNELS", "holdfast_inbox:*"}).elements.empty();
      });
    };
    return eventually(patience, inbox_is_open) && all_is_quiet();
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
  /// In a cluster messages about a lock go to the server that has it, or to all, who then all hear them.
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
