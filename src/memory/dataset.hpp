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
#include <vector>

#include "base/clock.hpp"
#include "memory/arguments.hpp"
#include "memory/sorted_set.hpp"
#include "memory/stored_keys.hpp"
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
      : publish_{std::move(publish)},
        count_write_{std::move(count)},
        keys_{static_cast<bool>(count_write_)} {}

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

  void go_on_to(time_point now) noexcept { keys_.go_on_to(now); }
  [[nodiscard]] bool has(std::string_view key) { return keys_.has(key); }
  /// The text under a key; empty when there is no such key, or it has another type. It is valid, as is that
  /// of a field, until the data changes.
  [[nodiscard]] std::string_view text_of(std::string_view key) { return keys_.text_of(key); }
  /// The text in a field of a hash; empty when there is none.
  [[nodiscard]] std::string_view field_of(std::string_view key, std::string_view field);
  /// Null: there is no such key, or it has another type.
  [[nodiscard]] sorted_set const* members_of(std::string_view key);
  /// The score of a member of a sorted set.
  [[nodiscard]] std::optional<double> score_in(std::string_view key, std::string_view member);
  [[nodiscard]] std::size_t members_in(std::string_view key);
  /// The end of the key's ttl; max() when it has no ttl, or there is no such key.
  [[nodiscard]] time_point end_of(std::string_view key);
  [[nodiscard]] std::vector<std::string> keys() { return keys_.names(); }
  /// Everything under a key in one text, for reports and searches.
  [[nodiscard]] std::string contents_of(std::string_view key);
  /// When that text, field or member came under the key: the number of the write; 0: never.
  [[nodiscard]] std::uint64_t came(std::string_view key, std::string_view word) const;

 private:
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
  /// Empties the list of what the command has brought.
  void note_write(bool written);

  // What isn't about keys alone.
  resp::reply ping(command);
  resp::reply time(command);
  resp::reply publish(command args);
  template <resp::reply (*Command)(stored_keys&, command)>
  resp::reply on_keys(command args) {
    return Command(keys_, args);
  }

  publisher publish_;
  write_counter count_write_;
  stored_keys keys_;
  std::map<std::string, std::map<std::string, std::uint64_t, std::less<>>, std::less<>> came_;
  std::chrono::nanoseconds clock_ahead_{0};
  std::int64_t last_time_ = 0;  ///< what TIME said last, in microseconds
};

}  // namespace holdfast::memory
