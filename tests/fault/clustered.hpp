/// A cluster, for tests of its faults.
#pragma once

#include "fault.hpp"
#include "support/cluster_servers.hpp"

#include <string>
#include <utility>

namespace holdfast::test {

class clustered : public testing::Test {
 protected:
  explicit clustered(cluster_options options = {.masters = 3, .replicas_each = 0})
      : nodes_{std::move(options)} {}

  [[nodiscard]] bool renews(client& redis, int times = 2) {
    auto const before = redis.stats().renewals;
    return eventually([&] { return redis.stats().renewals >= before + static_cast<unsigned>(times); });
  }
  [[nodiscard]] bool waits(client& redis) {
    return eventually([&] { return redis.stats().waits > 0; });
  }
  /// Another master, to which the slot can move.
  redis_server& another_master() { return nodes_.another_master(slot_); }
  redis_server& slot_master() { return nodes_.master_of(slot_); }

  std::string const name_ = "orders";
  std::uint16_t const slot_ = cluster_servers::slot_of(name_);
  lock_options const frequent_renewal_{.ttl = 60s, .renew_every = 100ms};
  cluster_servers nodes_;
};

}  // namespace holdfast::test
