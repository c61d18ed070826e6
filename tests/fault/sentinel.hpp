/// Clients of a master that sentinels name.
#pragma once

#include "fault.hpp"

#include "support/sentinel_servers.hpp"

namespace holdfast::test {

inline lock_options const frequent_renewal{.ttl = 30s, .renew_every = 100ms};

/// A failover takes long on an overloaded machine.
inline constexpr auto failover_time = 40s;

class sentinel : public testing::Test {
 protected:
  explicit sentinel(sentinel_options options = {}) : servers_{std::move(options)} {}

  /// The replicas get no write from now on, until they are thawed.
  void stop_replication() {
    auto& master = servers_.master();
    for (std::size_t i = 0; i != servers_.size(); ++i) {
      if (&servers_.data(i) != &master) servers_.data(i).freeze();
    }
    (void)master.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  }
  void thaw_replicas() {
    for (std::size_t i = 0; i != servers_.size(); ++i) servers_.data(i).thaw();
  }
  [[nodiscard]] bool renews_again() {
    auto const before = redis_.stats().renewals;
    return eventually(failover_time, [&] { return redis_.stats().renewals > before + 2; });
  }
  /// Asks with a client of its own.
  [[nodiscard]] bool is_busy(std::string const& name) {
    client other{servers_.url()};
    mutex m{other, name};
    return !m.try_acquire().has_value();
  }

  sentinel_servers servers_;
  log_lines log_;
  client redis_{servers_.url(), {.log = log_.hook()}};
};

}  // namespace holdfast::test
