/// Several names as the name of one lock queue: the same on all wires.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::recipes {

/// "<size>:<bytes>" of each name, concatenated: two different lists never give the same result.
[[nodiscard]] std::string join_names(std::span<std::string const> sorted);
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view joined);

/// Of a queue that is one of many with the name of one lock, which comes first in its own name: each that
/// waits has such a queue, where the server has to know them all.
extern engine::lock_names const seats;

/// The names of a queue, and a renewal's pairs of an owner and the number of its locks.
extern engine::lock_names const several;
void add_leases(std::span<engine::owned const> leases, std::vector<key>& locks, std::vector<arg>& owners);

/// `"a"`, `"a" and "b"`, `"a", "b" and 14 more`.
[[nodiscard]] std::string title_of(std::span<std::string_view const> names);

}  // namespace holdfast::recipes
