/// Several names as the name of one lock queue: the same on all wires.
#pragma once

#include <holdfast/multi_name.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::recipes {

/// "<size>:<bytes>" of each name, concatenated: two different lists never give the same result.
[[nodiscard]] std::string join_names(std::span<std::string const> sorted);
/// The same with the kinds of hold, where they aren't all to write: "<size>=<kind>:<bytes>", where the kind
/// is the word that the scripts expect.
[[nodiscard]] std::string join_names(std::span<multi_name const> sorted);
/// The names of either.
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view joined);

struct name_and_kind {
  std::string_view name;
  std::string_view kind;
};
[[nodiscard]] std::vector<name_and_kind> split_kinds(std::string_view joined);

/// For seats: where the server has to know each waiter, each waiter has a lock queue of its own, whose name
/// begins with the name of the lock.
extern engine::lock_names const seats;

/// The names of a queue, and a renewal's pairs of an owner and the number of its locks.
extern engine::lock_names const several;
void add_leases(std::span<engine::owned const> leases, std::vector<key>& locks, std::vector<arg>& owners);

/// `"a"`, `"a" and "b"`, `"a", "b" and 14 more`.
[[nodiscard]] std::string title_of(std::span<std::string_view const> names);

}  // namespace holdfast::recipes
