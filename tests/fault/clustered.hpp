/// A cluster, for tests of its faults.
#pragma once

#include "fault.hpp"
#include "support/cluster_servers.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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
  /// A name of a lock whose master `suits`.
  template <class F>
  std::string name_at(F suits) {
    for (auto i = 0;; ++i) {
      auto name = "other:" + std::to_string(i);
      if (suits(nodes_.master_of(name))) return name;
    }
  }
  std::string name_elsewhere() {
    return name_at([this](redis_server const& master) { return &master != &slot_master(); });
  }

  std::string const name_ = "orders";
  std::uint16_t const slot_ = cluster_servers::slot_of(name_);
  lock_options const frequent_renewal_{.ttl = 60s, .renew_every = 100ms};
  cluster_servers nodes_;
};

/// All nodes are behind proxies, and announce addresses that the client can't reach.
class cluster_behind_proxies : public clustered {
 protected:
  explicit cluster_behind_proxies(cluster_options options = {.masters = 3, .replicas_each = 0})
      : clustered{std::move(options)} {
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      proxies_.push_back(std::make_unique<flaky_proxy>(nodes_.node(i).socket_path()));
    }
  }
  [[nodiscard]] std::string url() const {
    std::string nat;
    for (std::size_t i = 0; i != proxies_.size(); ++i) {
      auto const port = std::to_string(const_cast<cluster_servers&>(nodes_).node(i).port());
      nat += (i == 0 ? "" : ",") + ("127.0.0.1:" + port + "/" + proxies_[i]->address());
    }
    return "redis+cluster://" + proxies_[0]->address() + "," + proxies_[1]->address() + "?nat=" + nat;
  }
  flaky_proxy& proxy_of(redis_server const& node) {
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      if (&nodes_.node(i) == &node) return *proxies_[i];
    }
    throw std::runtime_error{"no such node"};
  }

  std::vector<std::unique_ptr<flaky_proxy>> proxies_;
};

}  // namespace holdfast::test
