/// A Redis server in memory: data, scripts, subscribers. No I/O, and no clock: time is an argument.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/dataset.hpp"
#include "memory/lua_scripts.hpp"
#include "resp/reply.hpp"

namespace holdfast::memory {

/// One server. Commands take no time.
class server {
 public:
  /// `count_write`: see dataset.
  explicit server(std::string run_id, dataset::write_counter count_write = {});
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  /// Any command, also EVALSHA and EVAL. Throws std::logic_error for a command that it doesn't have, also
  /// when a script calls it.
  resp::reply execute(command words, time_point now);
  resp::reply execute(std::initializer_list<std::string_view> words, time_point now) {
    return execute(command{words.begin(), words.size()}, now);
  }

  void flush_scripts() { known_scripts_.clear(); }
  /// As a server that was started again without its data. Subscribers stay.
  void start_again(std::string run_id);

  using listener = std::function<void(std::string_view message)>;
  void subscribe(std::string const& channel, void const* subscriber, listener notify) {
    unsubscribe(channel, subscriber);
    subscribers_[channel].emplace_back(subscriber, std::move(notify));
  }
  void unsubscribe(std::string const& channel, void const* subscriber);
  /// Those that somebody has subscribed.
  [[nodiscard]] std::vector<std::string> channels() const;
  /// PUBSUB NUMSUB
  [[nodiscard]] resp::reply count_listeners(std::string_view channel) const;

  /// The data as of that time.
  [[nodiscard]] dataset& data(time_point now) {
    data_.go_on_to(now);
    return data_;
  }

 private:
  std::int64_t publish(std::string_view channel, std::string_view message);
  resp::reply run_known(command words, time_point now);
  resp::reply run_text(command words, time_point now);
  resp::reply run(lua_scripts::script const& script, command words, time_point now);

  std::string run_id_;
  dataset data_;
  std::unordered_map<std::string_view, lua_scripts::script const*> known_scripts_;  ///< by their SHA-1
  /// In the order in which they came: that of their addresses would differ from run to run.
  std::map<std::string, std::vector<std::pair<void const*, listener>>, std::less<>> subscribers_;
};

}  // namespace holdfast::memory
