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

/// Names that the fenced store knows: its holders exclude each other, and have tokens. Not objects that
/// exit() destroys.
inline constexpr std::array<std::string_view, 9> fenced_names{
    "storm:mutex:0",     "storm:mutex:1",     "storm:fair:0",   "storm:shared:0", "storm:election:0",
    "storm:recursive:0", "storm:condition:0", "storm:quorum:0", "storm:quorum:1"};

/// The kinds of locks that there are on a deployment.
enum class offer : std::uint8_t { all, quorum, etcd };
/// "all", "quorum" or "etcd".
[[nodiscard]] offer offer_of(std::string_view kinds);

class deeds {
 public:
  /// One for each thread. The options are those of the process: locks go from one of its callers to the next
  /// only with the same ones. `stop`: it ends its waits early.
  deeds(client& redis, board& shared, offer kinds, lock_options options, dice choices, std::stop_token stop);
  [[nodiscard]] static lock_options some_options(offer kinds, dice& by);

  /// One of a random kind. Throws what isn't an error of a server or a network.
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

  [[nodiscard]] std::chrono::milliseconds patience();
  /// Whether it was had in time: counts it as that deed, or as busy.
  [[nodiscard]] bool counted(bool got, deed what);
  void hold();
  /// Writes to the store, twice, and gives the lease back in one way or another.
  void use(lease& held, std::string const& name);
  void use_several(std::vector<multi_name> const& names);
  void write(lease const& held, std::string const& name);

  client& redis_;
  board& board_;
  offer kinds_;
  dice dice_;
  std::stop_token stop_;
  lock_options options_;
  std::atomic<char const*> under_way_{"nothing"};
};

}  // namespace holdfast::storm
