/// Which locks of a store a list shows, and in what order.
#pragma once

#include "serve/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// The locks that are wanted, and their order.
struct lock_filter {
  enum class order : std::uint8_t { contention, name, held, ttl };
  std::string text{};  ///< is a part of the name, or of the label or host of its holder
  std::string kind{};  ///< as listing::kind_word() has it; empty: all
  std::string wire{};  ///< "plain" or "redisson"; empty: both
  bool waited_for = false;
  order by = order::contention;
};

/// Those that match in their order, `at_most` of them after the first `skipped`; and how many there are.
[[nodiscard]] std::pair<std::vector<lock_store::entry const*>, std::size_t> chosen_locks(
    lock_store const& store, lock_filter const& filter, std::size_t skipped, std::size_t at_most);

}  // namespace holdfast::cli
