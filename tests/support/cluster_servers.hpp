/// A Redis Cluster as one object: masters with a replica each, real processes on loopback.
#pragma once

#include "redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

struct cluster_options {
  int masters = 3;
  int replicas_each = 1;
  std::chrono::milliseconds node_timeout{1'000};  ///< a node that is silent for so long counts as failing
  std::string password{};
  bool persistent = false;
  std::vector<std::string> args{};  ///< more arguments of each node
  bool tls = false;                 ///< clients and the bus
  unsigned first_group = 0;         ///< each node runs as a group of its own, from this one on; 0: as ours
};

/// Started when the constructor returns: all nodes know all slots, and the replicas are in sync. That takes
/// two seconds, since a node waits so long before it takes part. Dies with the thread that made it.
class cluster_servers {
 public:
  explicit cluster_servers(cluster_options options = {});

  /// redis+cluster://…, or rediss+cluster://…, with the first three nodes.
  [[nodiscard]] std::string url() const;

  /// At first: the masters, then their replicas in the same order.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] redis_server& node(std::size_t number) { return *nodes_[number]; }
  [[nodiscard]] std::string const& id_of(redis_server const& node) const;

  /// According to most of the running nodes.
  [[nodiscard]] redis_server& master_of(std::uint16_t slot);
  [[nodiscard]] redis_server& master_of(std::string const& key);
  [[nodiscard]] redis_server& replica_of(redis_server const& master);
  [[nodiscard]] std::vector<redis_server*> masters();
  /// A master that doesn't serve that slot.
  [[nodiscard]] redis_server& another_master(std::uint16_t slot);

  [[nodiscard]] static std::uint16_t slot_of(std::string const& key);

  /// A slot moves in steps. Between the first and the last the source replies ASK for keys that it hasn't,
  /// and TRYAGAIN for several keys of which it has some.
  void begin_migration(std::uint16_t slot, redis_server& from, redis_server& to);
  void move_keys(std::uint16_t slot, redis_server& from, redis_server& to);
  /// Returns when all nodes know the new master; throws if that takes longer than `within`.
  void end_migration(std::uint16_t slot, redis_server& from, redis_server& to,
                     std::chrono::seconds within = std::chrono::seconds{60});
  void migrate_slot(std::uint16_t slot, redis_server& from, redis_server& to,
                    std::chrono::seconds within = std::chrono::seconds{60});
  /// Moves the slot as a whole, without ASK and TRYAGAIN; false if these servers can't.
  [[nodiscard]] bool migrate_slot_as_one(std::uint16_t slot, redis_server& from, redis_server& to);

  /// Ends a migration that was interrupted, if one was, while all nodes run: one master serves the slot, and
  /// has all of its keys. Returns when all nodes know it.
  void settle(std::uint16_t slot);

  /// The replica takes over while its master runs; returns when all running nodes know it.
  void failover(redis_server& replica);
  /// Doesn't wait for it.
  static void begin_failover(redis_server& replica);
  /// Waits until most nodes name another master of that slot than `old`.
  [[nodiscard]] bool wait_for_another_master(std::uint16_t slot, redis_server const& old,
                                             std::chrono::milliseconds within = std::chrono::seconds{40});
  /// All running nodes report cluster_state:ok.
  [[nodiscard]] bool wait_until_ok(std::chrono::milliseconds within = std::chrono::seconds{40});
  /// All running replicas have the data of their masters.
  [[nodiscard]] bool wait_until_replicated();

 private:
  /// Throws when the node refuses: a fixture that continued would fail later, for no visible reason.
  static raw_reply run_checked(redis_server const& node, std::vector<std::string> const& words);
  [[nodiscard]] static std::vector<std::string> some_keys_in(std::uint16_t slot, redis_server const& node);
  /// The command that moves these keys.
  [[nodiscard]] std::vector<std::string> migration_of(std::vector<std::string> const& keys,
                                                      redis_server const& to) const;
  /// Of the servers that count; null: most name one that isn't known, or nobody names any.
  [[nodiscard]] redis_server* named_by_most(std::uint16_t slot,
                                            std::function<bool(redis_server*)> const& counts);
  [[nodiscard]] redis_server& server_or_heir_of(std::uint16_t slot);
  void bring_keys_back(std::uint16_t slot, redis_server& from, redis_server& to);
  void meet();
  void share_slots();
  void attach_replicas();
  [[nodiscard]] redis_server* by_port(std::int64_t port);
  [[nodiscard]] redis_server* by_id(std::string const& id);
  [[nodiscard]] bool all_agree_on(redis_server const& master, std::uint16_t slot);
  [[nodiscard]] bool all_know_epoch_of(redis_server const& master);

  cluster_options options_;
  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace holdfast::test
