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

  using listener = std::function<void(std::string const& message)>;
  void subscribe(std::string const& channel, void const* subscriber, listener notify) {
    subscribers_[channel][subscriber] = std::move(notify);
  }
  void unsubscribe(std::string const& channel, void const* subscriber);

  [[nodiscard]] std::string text_of(std::string const& key) { return data_.text_of(key, world_.now()); }
  [[nodiscard]] time_point end_of(std::string const& key) const { return data_.end_of(key); }
  [[nodiscard]] std::vector<std::string> keys() { return data_.keys(world_.now()); }

 private:
  std::int64_t publish(std::string const& channel, std::string const& message);
  resp::reply run(std::string const& source, command const& words);

  world& world_;
  dataset data_{
      [this](std::string const& channel, std::string const& message) { return publish(channel, message); }};
  std::unordered_map<std::string, std::string> known_scripts_;  ///< text by SHA-1
  std::map<std::string, std::map<void const*, listener>> subscribers_;
};

}  // namespace holdfast::simulation
