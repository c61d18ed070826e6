/// What a Redis server keeps in memory, as far as our scripts use it: keys of four types, their ttls, and the
/// commands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "resp/reply.hpp"

namespace holdfast::simulation {

using command = std::vector<std::string>;

/// Replies as a real server does (`dataset_test` compares the two). Time is an argument; it has no
/// subscribers: `publish` does.
class dataset {
 public:
  /// How many heard a message.
  using publisher = std::function<std::int64_t(std::string const& channel, std::string const& message)>;

  explicit dataset(publisher publish) : publish_{std::move(publish)} {}

  resp::reply execute(command const& words, time_point now);

  /// The text under a key; empty when there is none, or another type.
  [[nodiscard]] std::string text_of(std::string const& key, time_point now);
  /// When the key ends; max() when it has no ttl, or there is no such key.
  [[nodiscard]] time_point end_of(std::string const& key) const;
  [[nodiscard]] std::vector<std::string> keys(time_point now);

 private:
  using hash = std::map<std::string, std::string, std::less<>>;
  using sorted_set = std::map<std::string, double, std::less<>>;
  using list = std::vector<std::string>;
  struct value {
    std::variant<std::string, hash, sorted_set, list> data;
    time_point end = time_point::max();
  };
  struct wrong_type {};
  using words = std::span<std::string const>;
  using handler = resp::reply (dataset::*)(words);

  [[nodiscard]] static std::map<std::string, handler, std::less<>> const& handlers();
  [[nodiscard]] value* find(std::string const& key);
  template <class T>
  [[nodiscard]] T* find_as(std::string const& key);
  template <class T>
  [[nodiscard]] T& get_or_make(std::string const& key);
  /// Keys of collections go with their last element.
  template <class T>
  void drop_if_empty(std::string const& key);
  [[nodiscard]] std::vector<std::pair<double, std::string>> ranked(std::string const& key);
  resp::reply add(std::string const& key, std::int64_t by);
  resp::reply slice(std::vector<std::pair<double, std::string>> const& all, std::int64_t first,
                    std::int64_t last, bool scores);

  resp::reply ping(words);
  resp::reply time(words);
  resp::reply publish(words args);
  resp::reply pubsub(words args);
  resp::reply get(words args);
  resp::reply set(words args);
  resp::reply del(words args);
  resp::reply exists(words args);
  resp::reply type(words args);
  resp::reply pexpire(words args);
  resp::reply pttl(words args);
  resp::reply incrby(words args);
  resp::reply decrby(words args);
  resp::reply getrange(words args);
  resp::reply hset(words args);
  resp::reply hsetnx(words args);
  resp::reply hget(words args);
  resp::reply hdel(words args);
  resp::reply hexists(words args);
  resp::reply hlen(words args);
  resp::reply hkeys(words args);
  resp::reply hgetall(words args);
  resp::reply hstrlen(words args);
  resp::reply hincrby(words args);
  resp::reply zadd(words args);
  resp::reply zincrby(words args);
  resp::reply zrem(words args);
  resp::reply zscore(words args);
  resp::reply zrank(words args);
  resp::reply zcard(words args);
  resp::reply zcount(words args);
  resp::reply zrange(words args);
  resp::reply zrangebyscore(words args);
  resp::reply zpopmin(words args);
  resp::reply zremrangebyrank(words args);
  resp::reply rpush(words args);
  resp::reply lpop(words args);
  resp::reply lindex(words args);
  resp::reply lrange(words args);
  resp::reply lrem(words args);

  publisher publish_;
  std::map<std::string, value, std::less<>> keys_;
  time_point now_{};
};

}  // namespace holdfast::simulation
