/// The sentinels' views of a master, and the verdict that follows from them. No I/O.
#pragma once

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

/// What one sentinel reports.
struct sentinel_view {
  struct peer {
    std::string id;
    net::server_address at;
  };

  std::string id{};  ///< the sentinel's own; empty: not reported (Redis before 6.2)
  std::optional<net::server_address> master{};  ///< nullopt: it knows no master of that name
  /// Grows with each failover, and only a majority of the sentinels can make it grow: of two views the one
  /// with the larger number is newer.
  std::int64_t epoch = 0;
  std::vector<peer> others{};  ///< sentinels of the same master
};

// Each reads one reply into `view`. False: not a sentinel's reply.

[[nodiscard]] bool read_id(resp::reply const& reply, sentinel_view& view);       ///< SENTINEL MYID
[[nodiscard]] bool read_address(resp::reply const& reply, sentinel_view& view);  ///< get-master-addr-by-name
[[nodiscard]] bool read_master(resp::reply const& reply, sentinel_view& view);   ///< SENTINEL MASTER
[[nodiscard]] bool read_others(resp::reply const& reply, sentinel_view& view);   ///< SENTINEL SENTINELS
[[nodiscard]] std::vector<std::string> read_names(resp::reply const& masters);   ///< SENTINEL MASTERS

/// Is this message of the channel +switch-master about the master `name`?
[[nodiscard]] bool is_switch(std::string_view message, std::string_view name);

/// What several views come to.
struct sentinel_verdict {
  net::server_address master;
  std::int64_t epoch = 0;
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
