/// A client's place in the queue of a lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/callback.hpp"
#include "etcd/leases.hpp"

namespace holdfast::etcd {

/// What this client knows of one owner id: its key, if there is one; of a lock over several names one of
/// each, which are made together and go together.
struct place {
  std::string owner{};
  std::vector<std::string> names{};  ///< of its lock
  std::string called{};  ///< by the name of its inbox: the first one, or that of a seat at a barrier
  /// For how long its owner has waited, whoever of its callers came first.
  time_point since = boot_clock::now();
  bool reads = false;        ///< beside other readers
  bool of_latch = false;     ///< it waits for a latch, and has no key
  std::int64_t amount = 0;   ///< of permits: how many it wants; 0: it wants none
  std::int64_t offered = 0;  ///< of permits: how many there are, as far as its caller knows; 0: unknown
  std::vector<std::string> claims{};  ///< what it is among the keys of its lease: see leases::take
  std::string value{};                ///< of its keys
  lease_ptr lease{};                  ///< null: there is no key
  std::vector<std::string> keys{};    ///< of its names, in their order; none until the lease is granted
  std::int64_t revision = 0;          ///< in which the keys were made; 0: as far as is known there are none
  /// The newest revision of the store in which its holder has read the keys: what was asked for before is
  /// known, and watches begin behind it.
  std::int64_t seen = 0;
  /// Of several names: its key among those that stand aside; empty: it isn't there.
  std::string aside{};
  std::int64_t aside_revision = 0;  ///< in which that was made
  /// Such keys that a copy of a request may make, perhaps only later.
  std::set<std::string> asides_in_doubt{};
  std::int64_t ahead = 0;   ///< at most so many are before it
  bool unsure = false;      ///< a request without an answer may make the key, perhaps only later
  bool holds = false;       ///< it was the first one
  std::uint64_t watch = 0;  ///< of the key before it; 0: none
  std::string watched{};    ///< that key
  /// The same of its own keys when it holds them; of permits before that: of the places that it waits for,
  /// and of the key with their number.
  std::map<std::string, std::uint64_t> watches{};
  /// It has had the lock for a while: its own keys are watched from then on. Or it waits, and is to look
  /// then.
  reactor::timer watching{{}};
  reactor::timer end{{}};  ///< the engine hasn't renewed it: its key is deleted then

  /// It does, or a copy of a request may have it do so.
  [[nodiscard]] bool may_stand_aside() const noexcept { return !aside.empty() || !asides_in_doubt.empty(); }
  [[nodiscard]] std::string const& name() const noexcept { return names.front(); }
  [[nodiscard]] std::string const& key() const noexcept { return keys.front(); }

  /// Requests about it are made one after the other: calls `step` when all earlier ones have ended. Each
  /// calls end_step() when it has.
  void enqueue(callback<void()> step);
  /// The next step may be the end of this place.
  void end_step();
  [[nodiscard]] bool has_more_steps() const noexcept { return !next_.empty(); }

 private:
  bool busy_ = false;
  std::deque<callback<void()>> next_{};
};
using place_ptr = std::shared_ptr<place>;

}  // namespace holdfast::etcd
