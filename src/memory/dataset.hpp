/// The data in the memory of a Redis server, as far as Holdfast uses it: keys of four types, their ttls, and
/// the commands.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "memory/arguments.hpp"
#include "memory/sorted_set.hpp"
#include "resp/reply.hpp"

namespace holdfast::memory {

/// Replies as a real server does (`dataset_test` compares the two). Time is an argument. The data set has no
/// subscribers: `publish` delivers messages.
class dataset {
 public:
  /// Delivers a message; returns the number of its receivers.
  using publisher = std::function<std::int64_t(std::string_view channel, std::string_view message)>;
  /// Called for each write; returns how many there were.
  using write_counter = std::function<std::uint64_t()>;

  /// `count`: empty: came() isn't asked for.
  explicit dataset(publisher publish, write_counter count = {})
      : publish_{std::move(publish)}, count_write_{std::move(count)} {}

  /// Throws std::logic_error for a command that it doesn't have. Arguments aren't checked: it serves our own
  /// scripts and client.
  resp::reply execute(command words, time_point now);
  resp::reply execute(std::initializer_list<std::string_view> words, time_point now) {
    return execute(command{words.begin(), words.size()}, now);
  }

  void clear() {
    keys_.clear();
    came_.clear();
  }

  /// Its time of day differs from that of other servers.
  void set_clock_ahead(std::chrono::nanoseconds by) noexcept { clock_ahead_ = by; }

  // The rest is for looking at the data as of the time set last.

  void go_on_to(time_point now) noexcept { now_ = now; }
  [[nodiscard]] bool has(std::string_view key) { return find(key) != nullptr; }
  /// The text under a key; empty when there is no such key, or it has another type. It is valid, as is that
  /// of a field, until the data changes.
  [[nodiscard]] std::string_view text_of(std::string_view key);
  /// The text in a field of a hash; empty when there is none.
  [[nodiscard]] std::string_view field_of(std::string_view key, std::string_view field);
  /// Null: there is no such key, or it has another type.
  [[nodiscard]] sorted_set const* members_of(std::string_view key);
  /// The score of a member of a sorted set.
  [[nodiscard]] std::optional<double> score_in(std::string_view key, std::string_view member);
  [[nodiscard]] std::size_t members_in(std::string_view key);
  /// The end of the key's ttl; max() when it has no ttl, or there is no such key.
  [[nodiscard]] time_point end_of(std::string_view key);
  [[nodiscard]] std::vector<std::string> keys();
  /// Everything under a key in one text, for reports and searches.
  [[nodiscard]] std::string contents_of(std::string_view key);
  /// When that text, field or member came under the key: the number of the write; 0: never.
  [[nodiscard]] std::uint64_t came(std::string_view key, std::string_view word) const;

 private:
  using hash = std::map<std::string, std::string, std::less<>>;
  using list = std::vector<std::string>;
  struct value {
    std::variant<std::string, hash, sorted_set, list> data;
    time_point end = time_point::max();
  };
  struct wrong_type {};
  using handler = resp::reply (dataset::*)(command);
  /// Whether a command has written something.
  enum class effect : std::uint8_t {
    none,
    write,          ///< unless it fails
    write_if_told,  ///< if its reply says so: in doubt it hasn't, and a WAIT then counts less
  };
  struct known_command {
    std::string_view name;
    handler carry_out;
    effect has;
  };

  /// Null: there is no such command.
  [[nodiscard]] static known_command const* find_command(std::string_view name);
  [[nodiscard]] value* find(std::string_view key);
  /// Null: there is no such key. Throws wrong_type.
  template <class T>
  [[nodiscard]] T* find_as(std::string_view key);
  template <class T>
  [[nodiscard]] T& get_or_make(std::string_view key);
  /// The key of a collection is deleted with its last element.
  template <class T>
  void drop_if_empty(std::string_view key);
  bool erase(std::string_view key);
  resp::reply increase(std::string_view key, std::int64_t by);
  /// A write is under way that brings something new.
  void note_new(std::string_view key, std::string_view word) {
    if (count_write_) new_.emplace_back(key, word);
  }
  void note_write();

  // dataset.cpp: the server, and keys of all types.
  resp::reply ping(command);
  resp::reply time(command);
  resp::reply publish(command args);
  resp::reply del(command args);
  resp::reply exists(command args);
  resp::reply type(command args);
  resp::reply pexpire(command args);
  resp::reply pttl(command args);
  // dataset_strings.cpp
  resp::reply get(command args);
  resp::reply set(command args);
  resp::reply incr(command args);
  resp::reply incrby(command args);
  resp::reply decrby(command args);
  resp::reply getrange(command args);
  resp::reply append(command args);
  // dataset_hashes.cpp
  resp::reply hset(command args);
  resp::reply hsetnx(command args);
  resp::reply hget(command args);
  resp::reply hdel(command args);
  resp::reply hexists(command args);
  resp::reply hlen(command args);
  resp::reply hkeys(command args);
  resp::reply hgetall(command args);
  resp::reply hscan(command args);
  resp::reply hstrlen(command args);
  // dataset_sorted_sets.cpp
  resp::reply zadd(command args);
  resp::reply zincrby(command args);
  resp::reply zrem(command args);
  resp::reply zscore(command args);
  resp::reply zrank(command args);
  resp::reply zcard(command args);
  resp::reply zcount(command args);
  resp::reply zrange(command args);
  resp::reply zrangebyscore(command args);
  resp::reply zpopmin(command args);
  resp::reply zremrangebyrank(command args);
  // dataset_lists.cpp
  resp::reply rpush(command args);
  resp::reply lpush(command args);
  resp::reply llen(command args);
  resp::reply lpop(command args);
  resp::reply lindex(command args);
  resp::reply lpos(command args);
  resp::reply lrange(command args);
  resp::reply lrem(command args);

  publisher publish_;
  write_counter count_write_;
  std::map<std::string, value, std::less<>> keys_;
  std::vector<std::pair<std::string, std::string>> new_;  ///< by the command that is executed
  std::map<std::string, std::map<std::string, std::uint64_t, std::less<>>, std::less<>> came_;
  time_point now_{};
  std::chrono::nanoseconds clock_ahead_{0};
  std::int64_t last_time_ = 0;  ///< what TIME said last, in microseconds
};

template <class T>
T* dataset::find_as(std::string_view key) {
  auto* const stored = find(key);
  if (stored == nullptr) return nullptr;
  auto* const data = std::get_if<T>(&stored->data);
  if (data == nullptr) throw wrong_type{};
  return data;
}

template <class T>
T& dataset::get_or_make(std::string_view key) {
  if (auto* const stored = find_as<T>(key); stored != nullptr) return *stored;
  return std::get<T>(keys_.emplace(key, value{.data = T{}}).first->second.data);
}

template <class T>
void dataset::drop_if_empty(std::string_view key) {
  if (auto const* const data = find_as<T>(key); data != nullptr && data->empty()) erase(key);
}

}  // namespace holdfast::memory
