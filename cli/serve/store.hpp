/// What `holdfast serve` knows of the locks of one deployment, within bounds. No I/O, no clock.
#pragma once

#include "serve/lock_times.hpp"
#include "show/json.hpp"
#include "show/watch_events.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Names a lock in URLs: of its deployment, wire and name, which may be any bytes. 32 hexadecimal digits, the
/// same in each run.
[[nodiscard]] std::string lock_id(std::string_view deployment, wire of, std::string_view name);

/// What lists and events say of a name that may be any length: its first 1024 bytes.
[[nodiscard]] std::string_view beginning_of(std::string_view name);

struct store_limits {
  std::size_t locks = 20'000;
  std::size_t bytes = 25'165'824;  ///< for names, labels and holders
  std::size_t changes = 5'000;     ///< of all locks together, the newest
  /// Locks are counted by these beginnings of their names; all others together.
  std::vector<std::string> prefixes{};
};

/// For how long a hold is nothing to be told of.
struct long_hold_rules {
  std::chrono::milliseconds otherwise{};
  /// For names that begin so; the longest beginning counts.
  std::vector<std::pair<std::string, std::chrono::milliseconds>> by_prefix{};

  [[nodiscard]] std::chrono::milliseconds of(std::string_view name) const;
};

/// Not thread-safe.
class lock_store {
 public:
  using time = std::chrono::nanoseconds;  ///< of any steady clock
  using day_time = lock_times::day_time;

  /// Who was in the queue when the lock was last looked at.
  struct waiter {
    std::size_t owner = 0;  ///< a hash of the owner id
    time since{};
  };
  struct entry {
    std::string id{};
    lock_state state{};  ///< without its queue
    time seen{};
    time busy{};        ///< the last time it was seen in use
    time waited_for{};  ///< since when it has had waiters; 0: it has none
    std::vector<waiter> waiters{};
    std::size_t bytes = 0;
  };
  /// A change, with the lock as it was after it.
  struct change {
    std::string id{};
    std::string name{};  ///< the beginning of it; texts below are cut, too
    happening kind = happening::seen;
    day_time at{};
    std::string holder{};  ///< who has it since, in words; empty: nobody
    std::string before{};  ///< who had it before
    std::string owner{};   ///< the owner id of `holder`
    std::int64_t token = 0;
    std::int64_t waiting = 0;
    std::optional<std::int64_t> held_ms{};  ///< how long `before` had it, if that was seen
  };
  /// The locks whose names begin with one prefix, the longest that fits.
  struct totals {
    std::string prefix{};  ///< empty: all names that begin with none
    std::size_t held = 0;
    std::size_t waited_for = 0;
    std::int64_t waiting = 0;
    std::size_t long_holds = 0;
    std::chrono::milliseconds longest_wait{};  ///< since when a lock has had waiters
    std::uint64_t grants = 0;                  ///< that were seen since the start
    std::uint64_t losses = 0;                  ///< leases whose ttl was over
  };

  explicit lock_store(std::string deployment, store_limits limits = {});

  /// Adds an observation. Whether anything but the times has changed.
  bool saw(lock_state const& lock, time now, day_time at);
  /// A lock, on all its wires, is as it was, but for its times. `ttl`: of its key, negative if that has none;
  /// nullopt: it has gone on. Nothing if it isn't known.
  void still(std::string const& name, bool busy, std::optional<std::chrono::milliseconds> ttl, time now);
  /// Forgets locks that were last seen in use before `limit`, and gives their ids.
  std::vector<std::string> forget_idle(time limit);

  [[nodiscard]] entry const* find(std::string_view id) const;
  [[nodiscard]] entry const* find(std::string const& name, wire of) const;
  /// All names, each once.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool knows(std::string const& name) const { return by_name_.contains(name); }
  /// The newest first.
  [[nodiscard]] std::vector<change const*> changes_of(std::string_view id, std::size_t at_most) const;
  /// The newest ones, of all locks; the newest is the last.
  [[nodiscard]] std::deque<change> const& changes() const noexcept { return changes_; }
  /// How many there have been since the start, also those that are forgotten.
  [[nodiscard]] std::uint64_t change_count() const noexcept { return change_count_; }

  /// As far as holds and waits were seen.
  [[nodiscard]] lock_times const& times() const noexcept { return times_; }

  [[nodiscard]] std::unordered_map<std::string, entry> const& all() const noexcept { return entries_; }
  /// By prefixes, the rest first.
  [[nodiscard]] std::vector<totals> count(time now, long_hold_rules const& long_hold) const;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// How many observations found no room since the last call.
  std::size_t take_left_out() noexcept { return std::exchange(left_out_, 0); }

 private:
  /// The lock of one name on each wire; nullptr: it isn't known.
  struct on_wires {
    entry* plain = nullptr;
    entry* redisson = nullptr;
    [[nodiscard]] entry*& of(wire wanted) noexcept { return wanted == wire::redisson ? redisson : plain; }
  };

  [[nodiscard]] std::size_t group_of(std::string_view name) const;
  void forget(entry const& one);
  bool note_changes(entry const& before, lock_state const& now, time passed, day_time at);
  void note_waits(entry const& before, lock_state const& lock, time now, day_time at);

  std::string deployment_;
  store_limits limits_;
  std::unordered_map<std::string, entry> entries_{};     ///< by id
  std::unordered_map<std::string, on_wires> by_name_{};  ///< an id takes longer to make than a name to find
  std::deque<change> changes_{};
  std::uint64_t change_count_ = 0;
  lock_times times_{};
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
  std::vector<totals> counted_{};  ///< of each group: prefix, grants and losses
};

/// The object of docs/cli-json.md with `id`, `deployment` and `seen_ms`; its times are as of now, and of its
/// name it has the beginning.
[[nodiscard]] json to_json(lock_store::entry const& of, std::string_view deployment, lock_store::time now);
[[nodiscard]] json to_json(lock_store::change const& of);

}  // namespace holdfast::cli
