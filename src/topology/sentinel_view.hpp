/// What sentinels say of a master, and what follows from it. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::topology {

struct address {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(address const&, address const&) = default;
};

/// One sentinel's word.
struct sentinel_view {
  struct peer {
    std::string id;
    address at;
  };

  std::string id{};                 ///< the sentinel's own; empty: it doesn't say (Redis before 6.2)
  std::optional<address> master{};  ///< none: it knows no master of that name
  /// Grows with each failover, and only a majority of the sentinels can make it grow: of two views the one
  /// with the larger number is the newer one.
  std::int64_t epoch = 0;
  std::vector<peer> others{};  ///< sentinels of the same master
};

// Each reads one reply into `to`. False: that isn't what a sentinel answers.

[[nodiscard]] bool read_id(resp::reply const& from, sentinel_view& to);       ///< SENTINEL MYID
[[nodiscard]] bool read_address(resp::reply const& from, sentinel_view& to);  ///< get-master-addr-by-name
[[nodiscard]] bool read_master(resp::reply const& from, sentinel_view& to);   ///< SENTINEL MASTER
[[nodiscard]] bool read_others(resp::reply const& from, sentinel_view& to);   ///< SENTINEL SENTINELS
[[nodiscard]] std::vector<std::string> read_names(resp::reply const& of_masters);  ///< SENTINEL MASTERS

/// A message of the channel +switch-master: is it about the master `name`?
[[nodiscard]] bool is_switch(std::string_view message, std::string_view name);

/// What several views come to.
struct sentinel_verdict {
  address master;
  std::int64_t epoch = 0;
  bool settled = false;  ///< a majority of all sentinels that there are says so
};

/// Where as many say one thing as another.
enum class tie {
  leave,  ///< another one than the last, which was tried and didn't serve
  stay,   ///< the last
};

/// The newest that any of them says; of several such, what most of them say; of several such again, see tie.
/// `unanswered`: how many more are asked, who may know of each other no better than those. Nullopt: none of
/// them knows the master.
[[nodiscard]] std::optional<sentinel_verdict> verdict_of(std::span<sentinel_view const* const> views,
                                                         std::optional<address> const& last, tie of_equals,
                                                         std::size_t unanswered = 0);

/// Two of them name different masters.
[[nodiscard]] bool disagree(std::span<sentinel_view const* const> views);

}  // namespace holdfast::topology
