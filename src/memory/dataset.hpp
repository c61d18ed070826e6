/// The data in the memory of a Redis server, as far as Holdfast uses it: keys of four types, their ttls, and
/// the commands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "resp/reply.hpp"

namespace holdfast::memory {

using command = std::vector<std::string>;

/// Replies as a real server does (`dataset_test` compares the two). Time is an argument. The data set has no
/// subscribers: `publish` delivers messages.
class dataset {
 public:
  /// Delivers a message; returns the number of its receivers.
  using publisher = std::function<std::int64_t(std::string const& channel, std::string const& message)>;
  /// Called for each write; returns how many there were.
  using write_counter = std::function<std::uint64_t()>;

  /// `count`: empty: came() isn't asked for.
  explicit dataset(publisher publish, write_counter count = {})
      : publish_{std::move(publish)}, count_write_{std::move(count)} {}

  /// Throws std::logic_error for a command that it doesn't have. Arguments aren't checked: it serves our own
  /// scripts and client.
  resp::reply execute(command const& words, time_point now);

  void clear() {
    keys_.clear();
    came_.clear();
  }

  /// Its time of day differs from that of other servers.
  void set_clock_ahead(std::chrono::nanoseconds by) noexcept { clock_ahead_ = by; }

  // The rest is for looking at the data as of the time set last.

  void go_on_to(time_point now) noexcept { now_ = now; }
  [[nodiscard]] bool has(std::string const& key) { return find(key) != nullptr; }
  /// The text under a key; empty when there is no such key, or it has another type.
  [[nodiscard]] std::string text_of(std::string const& key);
  /// The text in a field of a hash; empty when there is none.
  [[nodiscard]] std::string field_of(std::string const& key, std::string const& field);
  /// The score of a member of a sorted set, and the lowest of all.
  [[nodiscard]] std::optional<double> score_in(std::string const& key, std::string const& member);
  [[nodiscard]] std::optional<double> lowest_score(std::string const& key);
  [[nodiscard]] bool all_scores_below(std::string const& key, double bound);
  [[nodiscard]] std::int64_t members_in(std::string const& key) {
    return static_cast<std::int64_t>(ranked(key).size());
  }
  /// The end of the key's ttl; max() when it has no ttl, or there is no such key.
  [[nodiscard]] time_point end_of(std::string const& key);
  [[nodiscard]] std::vector<std::string> keys();
  /// Everything under a key in one text, for reports and searches.
  [[nodiscard]] std::string contents_of(std::string const& key);
  /// When that text, field or member came under the key: the number of the write; 0: never.
  [[nodiscard]] std::uint64_t came(std::string const& key, std::string const& word) const;

 private:
  using hash = std::map<std::string, std::string, std::less<>>;
  using sorted_set = std::map<std::string, double, std::less<>>;
  using list = std::vector<std::string>;
  struct value {
    std::variant<std::string, hash, sorted_set, list> data;
    time_point end = time_point::max();
  };
  struct wrong_type {};
  using arguments = std::span<std::string const>;
  using handler = resp::reply (dataset::*)(arguments);
  /// The members of a sorted set with their scores, in order.
  using ranking = std::vector<std::pair<double, std::string>>;

  /// Null: there is no such command.
  [[nodiscard]] static handler handler_of(std::string_view name) noexcept;
  [[nodiscard]] value* find(std::string const& key);
  /// Null: there is no such key. Throws wrong_type.
  template <class T>
  [[nodiscard]] T* find_as(std::string const& key);
  template <class T>
  [[nodiscard]] T& get_or_make(std::string const& key);
  /// The key of a collection is deleted with its last element.
  template <class T>
  void drop_if_empty(std::string const& key);
  resp::reply increase(std::string const& key, std::int64_t by);
  /// A write is under way that brings something new.
  void note_new(std::string const& key, std::string const& word) {
    if (count_write_) new_.emplace_back(key, word);
  }
  void note_write();
  [[nodiscard]] ranking ranked(std::string const& key);

  // dataset.cpp: the server, and keys of all types.
  resp::reply ping(arguments);
  resp::reply time(arguments);
  resp::reply publish(arguments args);
  resp::reply del(arguments args);
  resp::reply exists(arguments args);
  resp::reply type(arguments args);
  resp::reply pexpire(arguments args);
  resp::reply pttl(arguments args);
  // dataset_strings.cpp
  resp::reply get(arguments args);
  resp::reply set(arguments args);
  resp::reply incr(arguments args);
  resp::reply incrby(arguments args);
  resp::reply decrby(arguments args);
  resp::reply getrange(arguments args);
  resp::reply append(arguments args);
  // dataset_hashes.cpp
  resp::reply hset(arguments args);
  resp::reply hsetnx(arguments args);
  resp::reply hget(arguments args);
  resp::reply hdel(arguments args);
  resp::reply hexists(arguments args);
  resp::reply hlen(arguments args);
  resp::reply hkeys(arguments args);
  resp::reply hgetall(arguments args);
  resp::reply hscan(arguments args);
  resp::reply hstrlen(arguments args);
  // dataset_sorted_sets.cpp
  resp::reply zadd(arguments args);
  resp::reply zincrby(arguments args);
  resp::reply zrem(arguments args);
  resp::reply zscore(arguments args);
  resp::reply zrank(arguments args);
  resp::reply zcard(arguments args);
  resp::reply zcount(arguments args);
  resp::reply zrange(arguments args);
  resp::reply zrangebyscore(arguments args);
  resp::reply zpopmin(arguments args);
  resp::reply zremrangebyrank(arguments args);
  // dataset_lists.cpp
  resp::reply rpush(arguments args);
  resp::reply lpush(arguments args);
  resp::reply llen(arguments args);
  resp::reply lpop(arguments args);
  resp::reply lindex(arguments args);
  resp::reply lpos(arguments args);
  resp::reply lrange(arguments args);
  resp::reply lrem(arguments args);

  publisher publish_;
  write_counter count_write_;
  std::map<std::string, value, std::less<>> keys_;
  std::vector<std::pair<std::string, std::string>> new_;  ///< by the command that is executed
  std::map<std::pair<std::string, std::string>, std::uint64_t> came_;
  time_point now_{};
  std::chrono::nanoseconds clock_ahead_{0};
  std::int64_t last_time_ = 0;  ///< what TIME said last, in microseconds
};

template <class T>
T* dataset::find_as(std::string const& key) {
  auto* const stored = find(key);
  if (stored == nullptr) return nullptr;
  auto* const data = std::get_if<T>(&stored->data);
  if (data == nullptr) throw wrong_type{};
  return data;
}

template <class T>
T& dataset::get_or_make(std::string const& key) {
  if (auto* const stored = find_as<T>(key); stored != nullptr) return *stored;
  return std::get<T>((keys_[key] = value{.data = T{}}).data);
}

template <class T>
void dataset::drop_if_empty(std::string const& key) {
  if (auto const* const data = find_as<T>(key); data != nullptr && data->empty()) keys_.erase(key);
}

}  // namespace holdfast::memory
