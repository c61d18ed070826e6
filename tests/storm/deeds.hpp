/// What a thread of a worker does: takes a lock of some kind, uses it, and gives it back.
#pragma once

#include "board.hpp"
#include "dice.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/multi_name.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::storm {

/// Kinds whose names the fenced store knows: their holders exclude each other, and have tokens. Not objects
/// that exit() destroys.
inline constexpr std::array<std::string_view, 7> fenced_kinds{"mutex",    "fair",      "recursive", "shared",
                                                              "election", "condition", "quorum"};
/// The last ones are mostly for sprints.
inline constexpr std::int64_t names_of_a_kind = 4;
[[nodiscard]] std::string name_of(std::string_view kind, std::int64_t number);

/// The kinds of locks that there are on a deployment.
enum class offer : std::uint8_t { all, quorum, etcd };
/// "all", "quorum" or "etcd".
[[nodiscard]] offer offer_of(std::string_view kinds);

/// Of all threads of a process: locks go from one of its callers to the next only with the same ones.
[[nodiscard]] lock_options some_options(offer kinds, dice& by);

/// How a thread goes about it. Those who stroll hold locks for long, wait for the few names that all others
/// wait for, and pause. Those who sprint take one lock after the other, each for a moment, most of them of
/// the kind that others sprint for at the same time.
enum class pace : std::uint8_t { stroll, sprint };

class deeds {
 public:
  /// One for each thread. `stop`: it ends its waits early.
  deeds(client& redis, board& shared, offer kinds, lock_options options, pace how, dice random,
        std::stop_token stop);

  /// One of a random kind, and a pause. Throws what isn't an error of a server or a network.
  void do_one();
  /// What is under way, for somebody who wonders why it lasts.
  [[nodiscard]] char const* under_way() const { return under_way_; }

 private:
  void do_mutex();
  void do_mutex_asynchronously();
  void do_fair();
  void do_recursive();
  void do_shared();
  void do_upgrade();
  void do_permits();
  void do_semaphore();
  void do_several();
  void do_several_to_write();
  void do_election();
  void do_barrier();
  void do_latch();
  void do_condition();
  void do_quorum();
  void do_redisson();

  void rest();
  /// One of the first names of that kind; in a sprint mostly one of the others.
  [[nodiscard]] std::string some_name(std::string_view kind, std::int64_t first_names = 1);
  [[nodiscard]] std::chrono::milliseconds patience();
  /// Whether it was had in time: counts it as that deed, or as busy.
  [[nodiscard]] bool counted(bool got, deed what);
  void hold();
  /// Writes to the store, twice, and gives the lease back in one way or another.
  void use(lease& held, std::string const& name);
  void use_several(std::vector<multi_name> const& names);
  void write(lease const& held, std::string const& name);

  struct choice {
    char const* name;
    void (deeds::*run)();
  };
  /// What is done here at that pace; those that are done more often stand in it more than once.
  [[nodiscard]] std::vector<choice> choices() const;
  [[nodiscard]] choice chosen();

  client& redis_;
  board& board_;
  offer kinds_;
  lock_options options_;
  bool sprints_;
  std::vector<choice> choices_ = choices();  ///< behind kinds_ and sprints_, by which it goes
  dice dice_;
  std::stop_token stop_;
  std::atomic<char const*> under_way_{"nothing"};
};

}  // namespace holdfast::storm
