/// A Redis server in memory: data, scripts, subscribers. No I/O, and no clock: time is an argument.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/dataset.hpp"
#include "resp/reply.hpp"

namespace holdfast::memory {

/// One command, or a transaction: MULTI, EXEC, and those between.
using commands = std::vector<command>;

/// One server. Commands take no time.
class server {
 public:
  /// `count_write`: see dataset.
  explicit server(std::string run_id, dataset::write_counter count_write = {});
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  /// Any command, also EVALSHA and EVAL. Throws std::logic_error for a command that it doesn't have, also
  /// when a script calls it.
  resp::reply execute(command const& words, time_point now);
  /// The reply to each.
  std::vector<resp::reply> execute(commands const& request, time_point now);

  void flush_scripts() { known_scripts_.clear(); }
  /// As a server that was started again without its data. Subscribers stay.
  void start_again(std::string run_id);

  using listener = std::function<void(std::string const& message)>;
  void subscribe(std::string const& channel, void const* subscriber, listener notify) {
    unsubscribe(channel, subscriber);
    subscribers_[channel].emplace_back(subscriber, std::move(notify));
  }
  void unsubscribe(std::string const& channel, void const* subscriber);
  /// Those that somebody has subscribed.
  [[nodiscard]] std::vector<std::string> channels() const;
  /// PUBSUB NUMSUB
  [[nodiscard]] resp::reply count_listeners(std::string const& channel) const;

  /// The data as of that time.
  [[nodiscard]] dataset& data(time_point now) {
    data_.go_on_to(now);
    return data_;
  }

 private:
  std::int64_t publish(std::string const& channel, std::string const& message);
  resp::reply run(std::string const& source, command const& words, time_point now);

  std::string run_id_;
  dataset data_;
  std::unordered_map<std::string, std::string> known_scripts_;  ///< text by SHA-1
  /// In the order in which they came: that of their addresses would differ from run to run.
  std::map<std::string, std::vector<std::pair<void const*, listener>>> subscribers_;
};

}  // namespace holdfast::memory
