#include "sentinel_servers.hpp"

#include "eventually.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

/// Field of a reply that is a list of names and values.
std::string field(raw_reply const& reply, std::string const& name) {
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
    if (reply.elements[i].text == name) return reply.elements[i + 1].text;
  return {};
}

}  // namespace

sentinel_servers::sentinel_servers(sentinel_options options) : options_{std::move(options)} {
  start_data();
  start_sentinels();
  if (!eventually(60s, [this] { return all_know_all(); }))
    throw std::runtime_error{"the sentinels don't find each other"};
  // A sentinel that isn't told of a promotion within four of those periods takes it back. And while a master
  // is down it asks the replicas once a second, and promotes only one that it has heard of within five pings.
  for (auto& one : sentinels_)
    (void)one->ask({"SENTINEL", "DEBUG", "PUBLISH-PERIOD", "1000", "PING-PERIOD", "1000"});
}

server_options sentinel_servers::like_all() const {
  server_options how{.on = options_.tls ? server_options::listen::tls : server_options::listen::tcp};
  if (!data_.empty()) how.certificates = data_[0]->folder();
  return how;
}

void sentinel_servers::start_data() {
  for (auto number = 0; number <= options_.replicas; ++number) {
    auto how = like_all();
    how.persistent = options_.persistent;
    how.requirepass = options_.password;
    how.args = {"--repl-diskless-sync-delay", "0"};
    if (number > 0) {
      auto const port = std::to_string(data_[0]->port());
      how.args.insert(how.args.end(), {"--replicaof", "127.0.0.1 " + port});
    }
    how.args.insert(how.args.end(), options_.args.begin(), options_.args.end());
    data_.push_back(redis_server::make(std::move(how)));
  }
  auto const linked = [this] {
    return std::all_of(data_.begin() + 1, data_.end(), [](auto& one) {
      return one->raw().info("replication", "master_link_status") == "up";
    });
  };
  if (!eventually(60s, linked)) throw std::runtime_error{"the replicas don't follow their master"};
}

void sentinel_servers::start_sentinels() {
  auto const majority = std::to_string(options_.sentinels / 2 + 1);
  auto const down_after = std::to_string(options_.down_after.count());
  // An attempt that fails is repeated after twice the failover time-out.
  auto config = "sentinel monitor " + name_ + " 127.0.0.1 " + std::to_string(data_[0]->port()) + " " +
                majority + "\nsentinel down-after-milliseconds " + name_ + " " + down_after +
                "\nsentinel failover-timeout " + name_ + " 3000\nsentinel parallel-syncs " + name_ + " 9\n";
  if (!options_.password.empty()) config += "sentinel auth-pass " + name_ + " " + options_.password + "\n";
  if (!options_.sentinel_password.empty())
    config += "sentinel sentinel-pass " + options_.sentinel_password + "\n";
  for (auto number = 0; number < options_.sentinels; ++number) {
    auto how = like_all();
    how.requirepass = options_.sentinel_password;
    how.args = {"--sentinel"};
    how.config = config;
    sentinels_.push_back(redis_server::make(std::move(how)));
    // They tell each other every two seconds otherwise, and look at the servers every ten.
    (void)sentinels_.back()->ask({"SENTINEL", "DEBUG", "PUBLISH-PERIOD", "100", "INFO-PERIOD", "200",
                                  "PING-PERIOD", "100", "ASK-PERIOD", "100"});
  }
}

bool sentinel_servers::all_know_all() {
  return std::all_of(sentinels_.begin(), sentinels_.end(), [this](auto& one) {
    auto const master = one->ask({"SENTINEL", "MASTER", name_});
    return field(master, "num-slaves") == std::to_string(options_.replicas) &&
           field(master, "num-other-sentinels") == std::to_string(options_.sentinels - 1) &&
           field(master, "flags") == "master";
  });
}

std::string sentinel_servers::url() const {
  std::string hosts;
  for (auto const& one : sentinels_) hosts += (hosts.empty() ? "" : ",") + one->address();
  auto const url = data_[0]->url_of_several("sentinel", hosts, "/" + name_);
  if (options_.sentinel_password.empty()) return url;
  return url + (options_.tls ? "&" : "?") + "sentinel_password=" + options_.sentinel_password;
}

std::uint16_t sentinel_servers::master_port_of(redis_server& sentinel) const {
  auto const reply = sentinel.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_});
  if (reply.elements.size() != 2) return 0;
  return static_cast<std::uint16_t>(std::stoi(reply.elements[1].text));
}

redis_server& sentinel_servers::master() {
  std::map<std::uint16_t, int> votes;
  for (auto& one : sentinels_)
    if (one->runs()) ++votes[master_port_of(*one)];
  auto const most = std::max_element(votes.begin(), votes.end(),
                                     [](auto const& a, auto const& b) { return a.second < b.second; });
  for (auto& one : data_)
    if (most != votes.end() && one->port() == most->first) return *one;
  throw std::runtime_error{"the sentinels name no master"};
}

redis_server& sentinel_servers::replica() {
  auto const& now = master();
  for (auto& one : data_)
    if (one.get() != &now && one->runs()) return *one;
  throw std::runtime_error{"no replica runs"};
}

bool sentinel_servers::wait_until_replicated() {
  auto& from = master();
  return eventually([&] {
    auto const offset = from.raw().info("replication", "master_repl_offset");
    return std::all_of(data_.begin(), data_.end(), [&](auto& one) {
      return one.get() == &from || !one->runs() ||
             (one->raw().info("replication", "master_link_status") == "up" &&
              one->raw().info("replication", "slave_repl_offset") == offset);
    });
  });
}

void sentinel_servers::failover() {
  auto const& old = master();
  // Refused while no replica is known as good yet, or another failover is being finished.
  auto const begun = [&] {
    return master_port_of(*sentinels_[0]) != old.port() ||
           !sentinels_[0]->ask({"SENTINEL", "FAILOVER", name_}).is_error();
  };
  // On a busy machine it gives up after some seconds: no replica says in time that it is the master.
  for (auto attempt = 0; attempt < 6; ++attempt) {
    if (!eventually(begun)) throw std::runtime_error{"the sentinel refuses to fail over"};
    if (wait_for_another_master(old, 8s)) return;
  }
  throw std::runtime_error{"no failover"};
}

bool sentinel_servers::wait_for_another_master(redis_server const& old, std::chrono::milliseconds within) {
  return came_within(within, [&] {
    auto const& now = master();
    return &now != &old && now.role() == "master" &&
           std::all_of(sentinels_.begin(), sentinels_.end(),
                       [&](auto& one) { return !one->runs() || master_port_of(*one) == now.port(); });
  });
}

}  // namespace holdfast::test
