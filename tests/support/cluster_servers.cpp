#include "cluster_servers.hpp"

#include "base/hash_slot.hpp"
#include "eventually.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

constexpr int slot_count = hash_slots;

bool is_in_sync(redis_server const& replica, redis_server const& master) {
  return replica.raw().info("replication", "master_link_status") == "up" &&
         replica.raw().info("replication", "slave_repl_offset") ==
             master.raw().info("replication", "master_repl_offset");
}

/// Id of the master of a range of CLUSTER SLOTS. Its port is no use: to a client without TLS, as on the unix
/// socket, a node with TLS reports the port without TLS, which is 0.
std::string const& master_id_in(raw_reply const& range) { return range.elements.at(2).elements.at(2).text; }

/// Id of the master that `node` names for the slot; empty if it knows none.
std::string master_id(redis_server const& node, std::uint16_t slot) {
  auto const shards = node.raw().command({"CLUSTER", "SLOTS"});
  for (auto const& range : shards.elements) {
    if (range.elements.size() < 3) continue;
    if (range.elements[0].integer <= slot && slot <= range.elements[1].integer) return master_id_in(range);
  }
  return {};
}

/// Configuration epoch of the node with `id`, as `node` knows it; empty if unknown.
std::string epoch_of(redis_server const& node, std::string const& id) {
  std::istringstream lines{node.raw().command({"CLUSTER", "NODES"}).text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::array<std::string, 7> columns;  // id, address, flags, master, ping, pong, epoch
    for (auto& column : columns) fields >> column;
    if (columns[0] == id) return columns[6];
  }
  return {};
}

}  // namespace

cluster_servers::cluster_servers(cluster_options options) : options_{std::move(options)} {
  server_options each{.transport = options_.tls ? server_transport::tls : server_transport::tcp,
                      .persistent = options_.persistent,
                      .requirepass = options_.password,
                      .args = {"--cluster-node-timeout", std::to_string(options_.node_timeout.count()),
                               "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
                               // A replica isn't listed before something was sent to it.
                               "--repl-ping-replica-period", "1"},
                      .cluster = true};
  each.args.insert(each.args.end(), options_.args.begin(), options_.args.end());
  auto const count = options_.masters * (1 + options_.replicas_each);
  for (auto number = 0; number < count; ++number) {
    if (options_.first_group != 0) each.group = options_.first_group + static_cast<unsigned>(number);
    nodes_.push_back(redis_server::make(each));
    each.certificates = nodes_[0]->folder();
  }
  for (auto& node : nodes_) ids_.push_back(run_checked(*node, {"CLUSTER", "MYID"}).text);
  share_slots();
  meet();
  attach_replicas();
  if (!wait_until_ok()) throw std::runtime_error{"the cluster doesn't come up"};
  if (!wait_until_replicated()) throw std::runtime_error{"the replicas don't follow their masters"};
}

void cluster_servers::meet() {
  // Each node is introduced to each other node: gossip takes longer. This is repeated until it succeeds: when
  // two nodes introduce themselves to each other at once on a busy machine, both may give up.
  auto const all_met = [this] {
    auto all = true;
    for (auto& node : nodes_) {
      for (auto& peer : nodes_) {
        if (node == peer || !epoch_of(*node, id_of(*peer)).empty()) continue;
        run_checked(*node, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(peer->port()),
                            std::to_string(peer->bus_port())});
        all = false;
      }
    }
    return all;
  };
  if (!eventually(60s, all_met)) throw std::runtime_error{"the nodes don't get to know each other"};
}

void cluster_servers::share_slots() {
  for (auto number = 0; number < options_.masters; ++number) {
    auto& master = *nodes_[static_cast<std::size_t>(number)];
    auto const first = slot_count * number / options_.masters;
    auto const last = slot_count * (number + 1) / options_.masters - 1;
    // Two masters with the same epoch would first have to agree which of them takes a new one.
    run_checked(master, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(number + 1)});
    run_checked(master, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
}

void cluster_servers::attach_replicas() {
  for (auto number = static_cast<std::size_t>(options_.masters); number < nodes_.size(); ++number) {
    auto const& master = ids_[number % static_cast<std::size_t>(options_.masters)];
    auto const follows = [&] {  // refused until the node knows that master
      return !nodes_[number]->raw().command({"CLUSTER", "REPLICATE", master}).is_error();
    };
    if (!eventually(60s, follows)) throw std::runtime_error{"a node doesn't hear of its master"};
  }
  auto const replicas_known = [this] {
    return std::all_of(nodes_.begin(), nodes_.end(), [this](auto& node) {
      auto const range_count = static_cast<std::size_t>(options_.masters);
      auto const ranges = node->raw().command({"CLUSTER", "SLOTS"}).elements;
      auto const range_size = static_cast<std::size_t>(3 + options_.replicas_each);
      return ranges.size() == range_count &&
             std::all_of(ranges.begin(), ranges.end(),
                         [&](auto const& range) { return range.elements.size() == range_size; });
    });
  };
  if (!eventually(60s, replicas_known)) throw std::runtime_error{"not all nodes hear of all replicas"};
}

raw_reply cluster_servers::run_checked(redis_server const& node, std::vector<std::string> const& words) {
  auto reply = node.raw().command(words);
  if (!reply.is_error()) return reply;
  std::string command;
  for (auto const& word : words) command += word + " ";
  throw std::runtime_error{node.address() + ": " + command + "→ " + reply.text};
}

std::string cluster_servers::url() const {
  std::string hosts;
  for (std::size_t number = 0; number < std::min<std::size_t>(3, nodes_.size()); ++number)
    hosts += (hosts.empty() ? "" : ",") + nodes_[number]->address();
  return nodes_[0]->url_of_several("cluster", hosts);
}

std::string const& cluster_servers::id_of(redis_server const& node) const {
  for (std::size_t number = 0; number < nodes_.size(); ++number)
    if (nodes_[number].get() == &node) return ids_[number];
  throw std::runtime_error{"not a node of this cluster"};
}

std::uint16_t cluster_servers::slot_of(std::string const& key) { return hash_slot(key); }

redis_server* cluster_servers::by_port(std::int64_t port) {
  for (auto& node : nodes_)
    if (node->port() == port) return node.get();
  return nullptr;
}

redis_server* cluster_servers::by_id(std::string const& id) {
  auto const found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? nullptr : nodes_[static_cast<std::size_t>(found - ids_.begin())].get();
}

redis_server* cluster_servers::named_by_most(std::uint16_t slot,
                                             std::function<bool(redis_server*)> const& counts) {
  std::map<redis_server*, int> votes;
  for (auto& node : nodes_) {
    if (!node->runs()) continue;
    if (auto* const named = by_id(master_id(*node, slot)); counts(named)) ++votes[named];
  }
  auto const most = std::max_element(votes.begin(), votes.end(),
                                     [](auto const& a, auto const& b) { return a.second < b.second; });
  return most == votes.end() ? nullptr : most->first;
}

redis_server& cluster_servers::master_of(std::uint16_t slot) {
  auto* const found = named_by_most(slot, [](redis_server*) { return true; });
  if (found == nullptr) throw std::runtime_error{"no node knows who serves that slot"};
  return *found;
}

redis_server& cluster_servers::master_of(std::string const& key) { return master_of(slot_of(key)); }

std::vector<redis_server*> cluster_servers::masters() {
  std::vector<redis_server*> serving;
  for (auto& node : nodes_) {
    if (!node->runs()) continue;
    auto const ranges = node->raw().command({"CLUSTER", "SLOTS"}).elements;
    auto const serves = std::any_of(ranges.begin(), ranges.end(),
                                    [&](auto const& range) { return master_id_in(range) == id_of(*node); });
    if (serves) serving.push_back(node.get());
  }
  return serving;
}

redis_server& cluster_servers::another_master(std::uint16_t slot) {
  auto const& excluded = master_of(slot);
  for (auto* master : masters())
    if (master != &excluded) return *master;
  throw std::runtime_error{"the cluster has one master"};
}

redis_server& cluster_servers::replica_of(redis_server const& master) {
  for (auto& node : nodes_) {
    if (!node->runs()) continue;
    auto const role = node->raw().command({"ROLE"});
    if (role.elements.at(0).text == "slave" && role.elements.at(2).integer == master.port()) return *node;
  }
  throw std::runtime_error{"no replica of that master runs"};
}

void cluster_servers::begin_migration(std::uint16_t slot, redis_server& from, redis_server& to) {
  run_checked(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", id_of(from)});
  run_checked(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", id_of(to)});
}

std::vector<std::string> cluster_servers::some_keys_in(std::uint16_t slot, redis_server const& node) {
  std::vector<std::string> keys;
  for (auto& key : run_checked(node, {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"}).elements)
    keys.push_back(std::move(key.text));
  return keys;
}

std::vector<std::string> cluster_servers::migration_of(std::vector<std::string> const& keys,
                                                       redis_server const& to) const {
  std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(to.port()), "", "0", "5000"};
  if (!options_.password.empty()) words.insert(words.end(), {"AUTH", options_.password});
  words.emplace_back("KEYS");
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

void cluster_servers::move_keys(std::uint16_t slot, redis_server& from, redis_server& to) {
  for (;;) {
    auto const keys = some_keys_in(slot, from);
    if (keys.empty()) return;
    run_checked(from, migration_of(keys, to));
  }
}

void cluster_servers::end_migration(std::uint16_t slot, redis_server& from, redis_server& to,
                                    std::chrono::seconds within) {
  // The target first: otherwise no node would serve the slot for a moment.
  std::vector<redis_server*> recipients{&to, &from};
  for (auto* master : masters())
    if (master != &to && master != &from) recipients.push_back(master);
  for (auto* recipient : recipients)
    run_checked(*recipient, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id_of(to)});
  if (!true_within(within, [&] { return all_agree_on(to, slot) && all_know_epoch_of(to); }))
    throw std::runtime_error{"not all nodes hear that the slot has moved"};
}

void cluster_servers::migrate_slot(std::uint16_t slot, redis_server& from, redis_server& to,
                                   std::chrono::seconds within) {
  begin_migration(slot, from, to);
  move_keys(slot, from, to);
  end_migration(slot, from, to, within);
}

bool cluster_servers::migrate_slot_as_one(std::uint16_t slot, redis_server& from, redis_server& to) {
  auto const number = std::to_string(slot);
  // In Redis (8.4) the target fetches the slot, in Valkey (9) the source sends it.
  if (to.raw().command({"CLUSTER", "MIGRATION", "IMPORT", number, number}).is_error() &&
      from.raw()
          .command({"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", number, number, "NODE", id_of(to)})
          .is_error())
    return false;
  if (!eventually(60s, [&] { return all_agree_on(to, slot); }))
    throw std::runtime_error{"not all nodes hear that the slot has moved"};
  return true;
}

/// A node that doesn't know the epoch takes a slot back without a newer epoch of its own. The master's
/// earlier claim then outranks it, and in the end each of the two names the other, for ever.
bool cluster_servers::all_know_epoch_of(redis_server const& master) {
  auto const epoch = epoch_of(master, id_of(master));
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](auto& node) { return !node->runs() || epoch_of(*node, id_of(master)) == epoch; });
}

bool cluster_servers::all_agree_on(redis_server const& master, std::uint16_t slot) {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](auto& node) { return !node->runs() || master_id(*node, slot) == id_of(master); });
}

void cluster_servers::begin_failover(redis_server& replica) { run_checked(replica, {"CLUSTER", "FAILOVER"}); }

void cluster_servers::failover(redis_server& replica) {
  auto const* const master = by_port(replica.raw().command({"ROLE"}).elements.at(2).integer);
  if (master == nullptr) throw std::runtime_error{"that replica follows nobody"};
  auto const ranges = replica.raw().command({"CLUSTER", "SLOTS"}).elements;
  auto const served_range = std::find_if(
      ranges.begin(), ranges.end(), [&](auto const& range) { return master_id_in(range) == id_of(*master); });
  if (served_range == ranges.end()) throw std::runtime_error{"that replica's master serves nothing"};
  auto const slot = static_cast<std::uint16_t>(served_range->elements.at(0).integer);
  begin_failover(replica);
  // On a busy machine a failover gives up after five seconds.
  for (auto attempt = 0; attempt < 6; ++attempt) {
    if (true_within(7s, [&] { return all_agree_on(replica, slot); })) return;
    if (replica.role() == "slave") (void)replica.raw().command({"CLUSTER", "FAILOVER"});
  }
  throw std::runtime_error{"no failover"};
}

bool cluster_servers::wait_for_another_master(std::uint16_t slot, redis_server const& old,
                                              std::chrono::milliseconds within) {
  return true_within(within, [&] {
    auto const& now = master_of(slot);
    return &now != &old && now.role() == "master";
  });
}

bool cluster_servers::wait_until_ok(std::chrono::milliseconds within) {
  return eventually(within, [this] {
    return std::all_of(nodes_.begin(), nodes_.end(), [](auto& node) {
      return !node->runs() ||
             node->raw().command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
    });
  });
}

bool cluster_servers::wait_until_replicated() {
  return eventually([this] {
    return std::all_of(nodes_.begin(), nodes_.end(), [this](auto& node) {
      if (!node->runs()) return true;
      auto const role = node->raw().command({"ROLE"});
      if (role.elements.at(0).text == "master") return true;
      auto* const master = by_port(role.elements.at(2).integer);
      return master != nullptr && master->runs() && is_in_sync(*node, *master);
    });
  });
}

}  // namespace holdfast::test
