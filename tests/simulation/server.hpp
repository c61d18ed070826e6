/// A simulated Redis: data, scripts, subscribers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "resp/reply.hpp"
#include "simulation/dataset.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// One server. What it executes takes no time.
class server {
 public:
  explicit server(world& in) : world_{in} {}

  /// Any command, EVALSHA and EVAL among them.
  resp::reply execute(command const& words);

  /// Until then it answers that it is loading its data.
  void refuse_until(time_point when) { refuses_until_ = when; }
  [[nodiscard]] bool refuses() const noexcept { return world_.now() < refuses_until_; }
  /// Forgets all scripts.
  void flush_scripts() { known_scripts_.clear(); }

  using listener = std::function<void(std::string const& message)>;
  void subscribe(std::string const& channel, void const* who, listener tell) {
    subscribers_[channel][who] = std::move(tell);
  }
  void unsubscribe(std::string const& channel, void const* who);

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
  time_point refuses_until_{};
};

}  // namespace holdfast::simulation
