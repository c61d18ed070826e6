/// A simulated Redis server: data, scripts, subscribers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "resp/reply.hpp"
#include "simulation/dataset.hpp"
#include "simulation/replication.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// One command, or a transaction: MULTI, EXEC, and those between.
using commands = std::vector<command>;

/// One server. Commands take no time.
class server {
 public:
  server(world& shared_world, std::string host) : world_{shared_world}, host_{std::move(host)} {}
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  [[nodiscard]] std::string const& host() const noexcept { return host_; }

  /// Any command, also EVALSHA and EVAL. Throws std::logic_error for a command that isn't simulated, also
  /// when a script calls it.
  resp::reply execute(command const& words);
  /// The reply to each.
  std::vector<resp::reply> execute(commands const& request);

  void flush_scripts() { known_scripts_.clear(); }

  /// No client reaches it until then.
  void vanish(time_point until) noexcept {
    away_until_ = until;
    note_trouble(until);
  }
  [[nodiscard]] bool reachable() const noexcept { return world_.now() >= away_until_; }
  /// It serves no request before then.
  void freeze(time_point until) noexcept {
    frozen_until_ = until;
    note_trouble(until);
  }
  /// Some client didn't reach it, or wasn't heard, until then.
  void note_trouble(time_point until) noexcept { trouble_until_ = std::max(trouble_until_, until); }
  [[nodiscard]] time_point trouble_until() const noexcept { return trouble_until_; }
  [[nodiscard]] time_point frozen_until() const noexcept { return frozen_until_; }
  /// A client ends. If it doesn't reach this server, it leaves something behind, until its ttl is over.
  void note_end_of_client() noexcept {
    auto const missed = std::max(away_until_, frozen_until_);
    if (missed > world_.now() || world_.now() - missed < std::chrono::seconds{1}) left_behind_ = true;
  }
  [[nodiscard]] bool left_behind() const noexcept { return left_behind_; }

  /// WAIT or WAITAOF on a connection whose last write ended at that offset. `done` gets the reply, later.
  void wait(command const& words, std::uint64_t written, std::function<void(resp::reply const&)> done);
  [[nodiscard]] std::uint64_t offset() const noexcept { return copies_.offset(); }
  [[nodiscard]] replication& copies() noexcept { return copies_; }

  using listener = std::function<void(std::string const& message)>;
  void subscribe(std::string const& channel, void const* subscriber, listener notify) {
    unsubscribe(channel, subscriber);
    subscribers_[channel].emplace_back(subscriber, std::move(notify));
  }
  void unsubscribe(std::string const& channel, void const* subscriber);

  /// The data, as of now.
  [[nodiscard]] dataset& data() {
    data_.go_on_to(world_.now());
    return data_;
  }

 private:
  [[nodiscard]] resp::reply count_listeners(std::string const& channel) const;
  std::int64_t publish(std::string const& channel, std::string const& message);
  resp::reply run(std::string const& source, command const& words);

  world& world_;
  std::string const host_;
  time_point away_until_{};
  time_point frozen_until_{};
  time_point trouble_until_{};
  bool left_behind_ = false;
  replication copies_{world_};
  dataset data_{
      [this](std::string const& channel, std::string const& message) { return publish(channel, message); },
      [this] {
        copies_.on_write();
        return copies_.offset();
      }};
  std::unordered_map<std::string, std::string> known_scripts_;  ///< text by SHA-1
  /// In the order in which they came: that of their addresses would differ from run to run.
  std::map<std::string, std::vector<std::pair<void const*, listener>>> subscribers_;
};

/// A single server, or the masters of a quorum.
using servers = std::vector<std::unique_ptr<server>>;

[[nodiscard]] constexpr std::size_t majority_of(servers const& all) noexcept { return all.size() / 2 + 1; }

}  // namespace holdfast::simulation
