/// A cluster, for tests of its faults.
#pragma once

#include "fault.hpp"
#include "support/cluster_servers.hpp"

#include <string>
#include <utility>

namespace holdfast::test {

class clustered : public testing::Test {
 protected:
  explicit clustered(cluster_options how = {.masters = 3, .replicas_each = 0}) : nodes_{std::move(how)} {}

  [[nodiscard]] bool renews(client& redis, int times = 2) {
    auto const before = redis.stats().renewals;
    return eventually([&] { return redis.stats().renewals >= before + static_cast<unsigned>(times); });
  }
  [[nodiscard]] bool waits(client& redis) {
    return eventually([&] { return redis.stats().waits > 0; });
  }
  /// Another master, for the slot to go to.
  redis_server& elsewhere() { return nodes_.another_master(slot_); }
  redis_server& home() { return nodes_.master_of(slot_); }

  std::string const name_ = "orders";
  std::uint16_t const slot_ = cluster_servers::slot_of(name_);
  lock_options const brisk_{.ttl = 60s, .renew_every = 100ms};
  cluster_servers nodes_;
};

}  // namespace holdfast::test
