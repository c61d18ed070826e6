/// Sentinel, a cluster, and masters that vote.
#include "arena.hpp"
#include "network_faults.hpp"

#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/sentinel_servers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;
using test::redis_server;

// A fault that begins waits for little: others are to end in time meanwhile.

/// A server that is down or frozen for a while.
ending killed(redis_server& server, std::chrono::milliseconds time) {
  server.kill9();
  return {time, [&server] { server.start(); }};
}
ending frozen(redis_server& server, std::chrono::milliseconds time) {
  server.freeze();
  return {time, [&server] { server.thaw(); }};
}

ending told_at_once(redis_server& server, dice& by) {
  if (!server.runs()) throw std::runtime_error{"it doesn't answer now"};
  if (by.one_in(2)) {
    (void)server.try_command({"SCRIPT", "FLUSH"});
  } else {
    server.raw().kill_clients("normal");
    server.raw().kill_clients("pubsub");
  }
  return {};
}

void run_all(std::vector<redis_server*> const& servers) {
  for (auto* const each : servers) {
    if (each->pid() == 0)
      each->start();
    else
      each->thaw();
  }
}

class sentinels : public deployment {
 public:
  static constexpr std::chrono::milliseconds longest_of_network{8'000};
  static constexpr auto group_of_network = "network";

  explicit sentinels(unsigned first_group = 0) : servers_{{.first_group = first_group}} {}

  [[nodiscard]] std::string url(int /*worker*/) const override { return servers_.url(); }
  std::vector<fault> faults() override {
    return {{"failover", "server",
             [this](dice&) {
               if (!servers_.begin_failover()) throw std::runtime_error{"the sentinels refuse to fail over"};
               return ending{};
             }},
            {"master killed", "server",
             [this](dice& by) { return killed(servers_.master(), by.between(3'000ms, 7'000ms)); }},
            {"master frozen", "server",
             [this](dice& by) { return frozen(servers_.master(), by.between(300ms, 6'000ms)); }},
            {"replica killed", "server",
             [this](dice& by) { return killed(servers_.replica(), by.between(500ms, 3'000ms)); }},
            {"sentinel cut off, back with old news", "sentinels",
             [this](dice& by) {
               auto const number = static_cast<std::size_t>(
                   by.between(0, static_cast<std::int64_t>(servers_.sentinel_count()) - 1));
               return frozen(servers_.sentinel(number), by.between(1'000ms, 8'000ms));
             }},
            {"SCRIPT FLUSH or CLIENT KILL", "commands",
             [this](dice& by) { return told_at_once(servers_.master(), by); }}};
  }
  std::vector<redis_server*> servers() override { return servers_.all(); }
  void heal() override {
    run_all(servers());
    // A failover that was interrupted is tried again by the sentinels, after their failover-timeout.
    (void)test::eventually(90s, [this] { return has_master(); });
  }

 protected:
  redis_server& some_master(dice&) { return servers_.master(); }

 private:
  bool has_master() {
    try {
      return servers_.master().role() == "master";
    } catch (std::exception const&) {
      return false;
    }
  }

  test::sentinel_servers servers_;
};

class cluster : public deployment {
 public:
  // Of a node and its replica that are away together the judge can't know: the others can be reached.
  static constexpr std::chrono::milliseconds longest_of_network{4'000};
  static constexpr auto group_of_network = "server";

  explicit cluster(unsigned first_group = 0) : servers_{{.first_group = first_group}} {}

  [[nodiscard]] std::string url(int /*worker*/) const override { return servers_.url(); }
  std::vector<fault> faults() override {
    return {{"CLUSTER FAILOVER", "server",
             [this](dice& by) {
               servers_.begin_failover(servers_.replica_of(some_master(by)));
               return ending{};
             }},
            {"slot moved", "server",
             [this](dice& by) {
               static std::vector<std::string> const names{"storm:mutex:0",   "storm:mutex:1",
                                                           "storm:fair:0",    "storm:shared:0",
                                                           "storm:permits:0", "storm:barrier:0"};
               auto const slot = test::cluster_servers::slot_of(by.of(names));
               auto& from = servers_.master_of(slot);
               auto& to = servers_.another_master(slot);
               moving_.insert(slot);
               if (moved(slot, from, to)) return ending{};
               // Who wants a lock that is half there and half here waits until it has been moved. To take it
               // back would let others have it meanwhile.
               return ending{500ms, [this, slot, &from, &to] {
                               (void)test::eventually(5s, [&] { return moved(slot, from, to); });
                             }};
             }},
            {"master killed", "server",
             [this](dice& by) { return killed(some_master(by), by.between(2'000ms, 6'000ms)); }},
            {"master frozen", "server",
             [this](dice& by) { return frozen(some_master(by), by.between(300ms, 6'000ms)); }},
            {"SCRIPT FLUSH or CLIENT KILL", "commands",
             [this](dice& by) { return told_at_once(some_master(by), by); }}};
  }
  std::vector<redis_server*> servers() override {
    std::vector<redis_server*> all;
    for (std::size_t i = 0; i != servers_.size(); ++i) all.push_back(&servers_.node(i));
    return all;
  }
  void heal() override {
    run_all(servers());
    (void)test::eventually(90s, [this] { return all_settled(); });
    if (servers_.wait_until_ok()) return;
    for (auto* const node : servers())
      views_ += "\n" + node->address() + ":\n" + node->raw().command({"CLUSTER", "NODES"}).text;
  }
  std::string left_behind() override {
    return views_.empty() ? std::string{}
                          : "a cluster that wasn't ok when all was healed, by its nodes:" + views_;
  }

 protected:
  redis_server& some_master(dice& by) {
    auto masters = servers_.masters();
    if (masters.empty()) throw std::runtime_error{"there is no master at the moment"};
    return *by.of(masters);
  }

 private:
  bool moved(std::uint16_t slot, redis_server& from, redis_server& to) {
    try {
      servers_.migrate_slot(slot, from, to, 5s);
    } catch (std::exception const&) {
      return false;
    }
    moving_.erase(slot);
    return true;
  }
  /// Of the slots whose migration broke off, since a node was in trouble.
  bool all_settled() {
    try {
      for (auto const slot : moving_) servers_.settle(slot);
    } catch (std::exception const&) {
      return false;
    }
    moving_.clear();
    return true;
  }

  test::cluster_servers servers_;
  std::set<std::uint16_t> moving_;
  std::string views_;  ///< of the nodes, if they weren't well when all was healed
};

/// Made before the servers, which run in it.
struct network_of_servers {
  static constexpr unsigned first_group = 61'100;
  static constexpr unsigned most_servers = 6;

  network_of_servers() {
    for (unsigned i = 0; i != most_servers; ++i) network.know(first_group + i);
  }

  test::private_network network{};
};

/// Servers are parted from one another while their clients reach all of them: a master that is replaced goes
/// on, and a sentinel tells old news.
template <class Deployment>
class parted final : private network_of_servers, public Deployment {
 public:
  parted() : Deployment{first_group} {}

  std::vector<fault> faults() override {
    auto all = Deployment::faults();
    auto const longest = Deployment::longest_of_network;
    std::string const group = Deployment::group_of_network;
    all.push_back(network_fault(
        network, "master parted from its peers", longest, [this](dice& by) { part(this->some_master(by)); },
        group));
    all.push_back(network_fault(
        network, "server parted from its peers", longest,
        [this](dice& by) {
          auto each = this->servers();
          part(*by.of(each));
        },
        group));
    add_packet_faults(
        all, network, "a master", longest, [this](dice& by) { return this->some_master(by).port(); }, group);
    return all;
  }

 private:
  void part(redis_server const& apart) {
    std::vector<std::uint16_t> others;
    for (auto const* const each : this->servers()) {
      if (each != &apart) std::ranges::copy(ports_of(*each), std::back_inserter(others));
    }
    network.part(apart.group(), ports_of(apart), others);
  }
  static std::vector<std::uint16_t> ports_of(redis_server const& server) {
    std::vector<std::uint16_t> ports{server.port()};
    if (server.bus_port() != 0) ports.push_back(server.bus_port());
    return ports;
  }
};

/// The masters write each change to disk, so each may be killed.
class voters final : public deployment {
 public:
  [[nodiscard]] std::string url(int /*worker*/) const override { return servers_.url(); }
  std::vector<fault> faults() override {
    return {
        {"voter killed, back with its data", "server",
         [this](dice& by) { return killed(some(by), by.between(200ms, 5'000ms)); }},
        {"voter frozen", "server", [this](dice& by) { return frozen(some(by), by.between(200ms, 6'000ms)); }},
        {"second voter frozen", "more servers",
         [this](dice& by) { return frozen(some(by), by.between(200ms, 2'500ms)); }},
        {"SCRIPT FLUSH or CLIENT KILL", "commands", [this](dice& by) { return told_at_once(some(by), by); }}};
  }
  std::vector<redis_server*> servers() override {
    std::vector<redis_server*> all;
    for (auto const& each : servers_) all.push_back(each.get());
    return all;
  }
  void heal() override { run_all(servers()); }

 private:
  /// That runs.
  redis_server& some(dice& by) {
    std::vector<redis_server*> running;
    std::ranges::copy_if(servers(), std::back_inserter(running), &redis_server::runs);
    if (running.empty()) throw std::runtime_error{"no voter runs at the moment"};
    return *by.of(running);
  }

  test::independent_servers servers_{3, {.persistent = true}};
};

}  // namespace

std::vector<terrain> terrains_of_several_servers() {
  auto const lacking = test::private_network::lacking_to_part();
  std::vector<terrain> all{{.name = "Sentinel, parted by its network",
                            .lacking = lacking,
                            .make = [] { return std::make_unique<parted<sentinels>>(); }},
                           {.name = "a cluster, parted by its network",
                            .lacking = lacking,
                            .make = [] { return std::make_unique<parted<cluster>>(); }},
                           {.name = "masters that vote", .kinds = "quorum", .keeps = true, .make = [] {
                              return std::make_unique<voters>();
                            }}};
  if (lacking.empty()) return all;
  all.push_back({.name = "Sentinel", .make = [] { return std::make_unique<sentinels>(); }});
  all.push_back({.name = "a cluster", .make = [] { return std::make_unique<cluster>(); }});
  return all;
}

}  // namespace holdfast::storm
