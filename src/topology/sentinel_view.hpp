/// The sentinels' views of a master, and the verdict that follows from them. No I/O.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/server_address.hpp"
#include "resp/reply.hpp"

namespace holdfast::topology {

/// How new a word is: of two about different masters the greater is the newer one.
struct word_age {
  std::int64_t epoch = 0;
  /// False: the sentinel leads a failover that isn't finished. If it hears meanwhile of a later one, back to
  /// the master that it watches, it takes over that one's epoch, and goes on naming the master of its own.
  bool firm = true;

  friend auto operator<=>(word_age const&, word_age const&) = default;
};

/// What one sentinel reports.
struct sentinel_view {
  struct peer {
    std::string id;
    net::server_address at;
  };

  std::string id{};  ///< the sentinel's own; empty: not reported (Redis before 6.2)
  std::optional<net::server_address> master{};  ///< nullopt: it knows no master of that name
  /// Grows with each failover, and only a majority of the sentinels, or an order to one of them, can make it
  /// grow: of two views the one with the larger number is newer.
  std::int64_t epoch = 0;
  /// The one that it watches. While it leads a failover that is the old one, and `master` the one to be.
  std::optional<net::server_address> watched{};
  std::vector<peer> others{};  ///< sentinels of the same master

  [[nodiscard]] word_age age() const noexcept {
    return {.epoch = epoch, .firm = !watched || !master || *watched == *master};
  }
};

// Each reads one reply into `view`. False: not a sentinel's reply.

[[nodiscard]] bool read_id(resp::reply const& reply, sentinel_view& view);       ///< SENTINEL MYID
[[nodiscard]] bool read_address(resp::reply const& reply, sentinel_view& view);  ///< get-master-addr-by-name
[[nodiscard]] bool read_master(resp::reply const& reply, sentinel_view& view);   ///< SENTINEL MASTER
[[nodiscard]] bool read_others(resp::reply const& reply, sentinel_view& view);   ///< SENTINEL SENTINELS
[[nodiscard]] std::vector<std::string> read_names(resp::reply const& masters);   ///< SENTINEL MASTERS

/// Is this message of the channel +switch-master about the master `name`?
[[nodiscard]] bool is_switch(std::string_view message, std::string_view name);
/// Is this message of the channel +promoted-slave about a replica of the master `name`?
[[nodiscard]] bool is_promotion(std::string_view message, std::string_view name);

/// What several views come to.
struct sentinel_verdict {
  net::server_address master;
  word_age age{};
  bool settled = false;  ///< a majority of all existing sentinels reports it
};

/// Decides between masters with equally many votes.
enum class tie {
  leave,  ///< for another master than the last, which was tried and didn't serve
  stay,   ///< for the last
};

/// The newest view; of several the one with most votes; of several again, see tie. `unanswered`: the number
/// of further sentinels that were asked; the others may not list them as peers. Nullopt: no view has a
/// master.
[[nodiscard]] std::optional<sentinel_verdict> verdict_of(std::span<sentinel_view const* const> views,
                                                         std::optional<net::server_address> const& last,
                                                         tie tie_rule, std::size_t unanswered = 0);

/// Two of the views name different masters.
[[nodiscard]] bool disagree(std::span<sentinel_view const* const> views);

}  // namespace holdfast::topology
