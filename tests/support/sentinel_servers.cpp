#include "sentinel_servers.hpp"

#include "eventually.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

/// A field of a reply that lists names and values.
std::string field(raw_reply const& reply, std::string const& name) {
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
    if (reply.elements[i].text == name) return reply.elements[i + 1].text;
  return {};
}

}  // namespace

sentinel_servers::sentinel_servers(sentinel_options options) : options_{std::move(options)} {
  start_data();
  start_sentinels();
  if (!eventually(60s, [this] { return all_discovered(); }))
    throw std::runtime_error{"the sentinels don't find each other"};
  // A sentinel that doesn't learn of a promotion within four publish periods reverts it. While a master is
  // down it polls the replicas once a second, and promotes only a replica that replied within five ping
  // periods.
  for (auto& sentinel : sentinels_)
    (void)sentinel->try_command({"SENTINEL", "DEBUG", "PUBLISH-PERIOD", "1000", "PING-PERIOD", "1000"});
}

server_options sentinel_servers::common_options() const {
  server_options common{.transport = options_.tls ? server_transport::tls : server_transport::tcp};
  if (!data_.empty()) common.certificates = data_[0]->folder();
  if (options_.first_group != 0)
    common.group = options_.first_group + static_cast<unsigned>(data_.size() + sentinels_.size());
  return common;
}

void sentinel_servers::start_data() {
  for (auto number = 0; number <= options_.replicas; ++number) {
    auto server = common_options();
    server.persistent = options_.persistent;
    server.requirepass = options_.password;
    server.args = {"--repl-diskless-sync-delay", "0"};
    server.args.insert(server.args.end(), options_.args.begin(), options_.args.end());
    // In a file, which the sentinels have rewritten: a server comes back as what it was. A master that comes
    // back as a replica of its own replica would leave all of them without data to follow.
    server.config = number == 0 ? "# the first master\n"
                                : "replicaof 127.0.0.1 " + std::to_string(data_[0]->port()) + "\n";
    data_.push_back(redis_server::make(std::move(server)));
  }
  auto const linked = [this] {
    return std::all_of(data_.begin() + 1, data_.end(), [](auto& replica) {
      return replica->raw().info("replication", "master_link_status") == "up";
    });
  };
  if (!eventually(60s, linked)) throw std::runtime_error{"the replicas don't follow their master"};
}

void sentinel_servers::start_sentinels() {
  auto const majority = std::to_string(options_.sentinels / 2 + 1);
  auto const down_after = std::to_string(options_.down_after.count());
  // A failed attempt is repeated after twice the failover time-out.
  auto config = "sentinel monitor " + name_ + " 127.0.0.1 " + std::to_string(data_[0]->port()) + " " +
                majority + "\nsentinel down-after-milliseconds " + name_ + " " + down_after +
                "\nsentinel failover-timeout " + name_ + " 3000\nsentinel parallel-syncs " + name_ + " 9\n";
  if (!options_.password.empty()) config += "sentinel auth-pass " + name_ + " " + options_.password + "\n";
  if (!options_.sentinel_password.empty())
    config += "sentinel sentinel-pass " + options_.sentinel_password + "\n";
  for (auto number = 0; number < options_.sentinels; ++number) {
    auto sentinel = common_options();
    sentinel.requirepass = options_.sentinel_password;
    sentinel.args = {"--sentinel"};
    sentinel.config = config;
    sentinels_.push_back(redis_server::make(std::move(sentinel)));
    // By default they publish every two seconds, and poll the servers every ten.
    (void)sentinels_.back()->try_command({"SENTINEL", "DEBUG", "PUBLISH-PERIOD", "100", "INFO-PERIOD", "200",
                                          "PING-PERIOD", "100", "ASK-PERIOD", "100"});
  }
}

bool sentinel_servers::all_discovered() {
  return std::all_of(sentinels_.begin(), sentinels_.end(), [this](auto& sentinel) {
    auto const master = sentinel->try_command({"SENTINEL", "MASTER", name_});
    return field(master, "num-slaves") == std::to_string(options_.replicas) &&
           field(master, "num-other-sentinels") == std::to_string(options_.sentinels - 1) &&
           field(master, "flags") == "master";
  });
}

std::vector<redis_server*> sentinel_servers::all() {
  std::vector<redis_server*> each;
  for (auto& server : data_) each.push_back(server.get());
  for (auto& sentinel : sentinels_) each.push_back(sentinel.get());
  return each;
}

std::string sentinel_servers::url() const {
  std::string hosts;
  for (auto const& sentinel : sentinels_) hosts += (hosts.empty() ? "" : ",") + sentinel->address();
  auto const url = data_[0]->url_of_several("sentinel", hosts, "/" + name_);
  if (options_.sentinel_password.empty()) return url;
  return url + (options_.tls ? "&" : "?") + "sentinel_password=" + options_.sentinel_password;
}

std::uint16_t sentinel_servers::master_port_of(redis_server& sentinel) const {
  auto const reply = sentinel.try_command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_});
  if (reply.elements.size() != 2) return 0;
  return static_cast<std::uint16_t>(std::stoi(reply.elements[1].text));
}

redis_server& sentinel_servers::master() {
  std::map<std::uint16_t, int> votes;
  for (auto& sentinel : sentinels_)
    if (sentinel->runs()) ++votes[master_port_of(*sentinel)];
  auto const most = std::max_element(votes.begin(), votes.end(),
                                     [](auto const& a, auto const& b) { return a.second < b.second; });
  for (auto& server : data_)
    if (most != votes.end() && server->port() == most->first) return *server;
  throw std::runtime_error{"the sentinels name no master"};
}

redis_server& sentinel_servers::replica() {
  auto const& current_master = master();
  for (auto& server : data_)
    if (server.get() != &current_master && server->runs()) return *server;
  throw std::runtime_error{"no replica runs"};
}

bool sentinel_servers::wait_until_replicated() {
  auto& source = master();
  return eventually([&] {
    auto const offset = source.raw().info("replication", "master_repl_offset");
    return std::all_of(data_.begin(), data_.end(), [&](auto& server) {
      return server.get() == &source || !server->runs() ||
             (server->raw().info("replication", "master_link_status") == "up" &&
              server->raw().info("replication", "slave_repl_offset") == offset);
    });
  });
}

/// Refused while no replica is known to be good yet, or another failover is not finished: then another one
/// may do it. One that was suspended does nothing for 30 s.
bool sentinel_servers::begin_failover() {
  return std::any_of(sentinels_.begin(), sentinels_.end(), [&](auto& sentinel) {
    return sentinel->try_command({"SENTINEL", "FAILOVER", name_}).text == "OK";
  });
}

void sentinel_servers::failover() {
  auto const& old = master();
  auto const begun = [&] { return &master() != &old || begin_failover(); };
  // On a busy machine a failover gives up after some seconds: no replica reports in time to be the master.
  for (auto attempt = 0; attempt < 6; ++attempt) {
    if (!eventually(begun)) throw std::runtime_error{"the sentinels refuse to fail over"};
    if (wait_for_another_master(old, 8s)) return;
  }
  throw std::runtime_error{"no failover"};
}

bool sentinel_servers::wait_for_another_master(redis_server const& old, std::chrono::milliseconds within) {
  return true_within(within, [&] {
    auto const& current_master = master();
    return &current_master != &old && current_master.role() == "master" &&
           std::all_of(sentinels_.begin(), sentinels_.end(), [&](auto& sentinel) {
             return !sentinel->runs() || master_port_of(*sentinel) == current_master.port();
           });
  });
}

}  // namespace holdfast::test
