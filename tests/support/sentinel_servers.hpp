/// A master with its replicas and the sentinels that watch them, as one object: real processes on loopback.
#pragma once

#include "redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

struct sentinel_options {
  int replicas = 2;
  int sentinels = 3;                            ///< a majority of them has to agree
  std::chrono::milliseconds down_after{1'000};  ///< a master that is silent for so long counts as down
  std::string password{};                       ///< of the servers with data
  std::string sentinel_password{};              ///< of the sentinels
  bool persistent = false;                      ///< the servers with data
  std::vector<std::string> args{};              ///< more arguments of the servers with data
  bool tls = false;                             ///< all of them, also with each other
  unsigned first_group = 0;  ///< each runs as a group of its own, from this one on; 0: as ours
};

/// Started when the constructor returns: the replicas are in sync, and all sentinels know the replicas and
/// each other. Dies with the thread that made it.
class sentinel_servers {
 public:
  explicit sentinel_servers(sentinel_options options = {});

  /// redis+sentinel://…, or rediss+sentinel://…, with all sentinels and all passwords.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::string const& name() const { return name_; }  ///< of the master, in the sentinels

  /// The servers with data; number 0 is the master at first.
  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] redis_server& data(std::size_t number) { return *data_[number]; }
  [[nodiscard]] std::size_t sentinel_count() const { return sentinels_.size(); }
  [[nodiscard]] redis_server& sentinel(std::size_t number) { return *sentinels_[number]; }
  /// The servers with data, then the sentinels.
  [[nodiscard]] std::vector<redis_server*> all();

  /// The master according to most sentinels.
  [[nodiscard]] redis_server& master();
  /// A running server that isn't the master.
  [[nodiscard]] redis_server& replica();

  /// All running replicas have the data of the master; false when they hang.
  [[nodiscard]] bool wait_until_replicated();

  /// SENTINEL FAILOVER while all servers with data run: returns when the new master is one and all running
  /// sentinels name it.
  void failover();
  /// Doesn't wait for it. False: no sentinel does it now.
  bool begin_failover();
  /// Waits until all running sentinels name another master than `old`, and it accepts writes.
  [[nodiscard]] bool wait_for_another_master(redis_server const& old,
                                             std::chrono::milliseconds within = std::chrono::seconds{40});

 private:
  /// The options of servers and sentinels alike.
  [[nodiscard]] server_options common_options() const;
  void start_data();
  void start_sentinels();
  [[nodiscard]] bool all_discovered();
  [[nodiscard]] std::uint16_t master_port_of(redis_server& sentinel) const;

  std::string name_ = "mymaster";
  sentinel_options options_;
  std::vector<std::unique_ptr<redis_server>> data_;
  std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace holdfast::test
