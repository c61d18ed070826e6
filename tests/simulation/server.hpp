/// A simulated Redis server: one in memory, with outages, and with copies of its data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/server.hpp"
#include "resp/reply.hpp"
#include "script/call.hpp"
#include "simulation/replication.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

using memory::command;
using memory::dataset;

class server {
 public:
  server(world& shared_world, std::string host) : world_{shared_world}, host_{std::move(host)} {}
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  [[nodiscard]] std::string const& host() const noexcept { return host_; }

  /// As memory::server, now.
  resp::reply execute(std::initializer_list<std::string_view> words) {
    return execute(command{words.begin(), words.size()});
  }
  /// The replies to one command, or to each of a transaction: MULTI, EXEC, and those between.
  resp::reply execute(call const& script);
  std::vector<resp::reply> execute_request(std::string_view bytes);
  void flush_scripts() { server_.flush_scripts(); }
  void subscribe(std::string const& channel, void const* subscriber, memory::server::listener notify) {
    server_.subscribe(channel, subscriber, std::move(notify));
  }
  void unsubscribe(std::string const& channel, void const* subscriber) {
    server_.unsubscribe(channel, subscriber);
  }
  /// How many commands it has executed: without one the data changes only by ttls that end.
  [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }
  /// The data, as of now.
  [[nodiscard]] dataset& data() { return server_.data(world_.now()); }

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
  void wait(command words, std::uint64_t written, std::function<void(resp::reply const&)> done);
  [[nodiscard]] std::uint64_t offset() const noexcept { return replicas_.offset(); }
  [[nodiscard]] replication& replicas() noexcept { return replicas_; }

 private:
  resp::reply execute(command words) {
    ++executed_;
    return server_.execute(words, world_.now());
  }

  world& world_;
  std::string const host_;
  std::uint64_t executed_ = 0;
  time_point away_until_{};
  time_point frozen_until_{};
  time_point trouble_until_{};
  bool left_behind_ = false;
  replication replicas_{world_};
  memory::server server_{host_, [this] {
                           replicas_.on_write();
                           return replicas_.offset();
                         }};
};

/// A single server, or the masters of a quorum.
using servers = std::vector<std::unique_ptr<server>>;

[[nodiscard]] constexpr std::size_t majority_of(servers const& all) noexcept { return all.size() / 2 + 1; }

}  // namespace holdfast::simulation
