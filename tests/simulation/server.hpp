/// A simulated Redis server: data, scripts, subscribers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "resp/reply.hpp"
#include "simulation/dataset.hpp"
#include "simulation/replication.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// One server. Commands take no time.
class server {
 public:
  explicit server(world& shared_world) : world_{shared_world} {}

  /// Any command, also EVALSHA and EVAL. Throws std::logic_error for a command that isn't simulated, also
  /// when a script calls it.
  resp::reply execute(command const& words);

  void flush_scripts() { known_scripts_.clear(); }

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
  std::int64_t publish(std::string const& channel, std::string const& message);
  resp::reply run(std::string const& source, command const& words);

  world& world_;
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

}  // namespace holdfast::simulation
