/// Several exclusive locks of one server, acquired and released as one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::sync {

/// The name of a queue is made of all names: see join_names.
extern engine::recipe const multi;

/// "<size>:<bytes>" of each name, concatenated: two different lists never give the same result.
[[nodiscard]] std::string join_names(std::span<std::string const> sorted);
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view joined);

/// The same on all wires: the names of a queue, and a renewal's pairs of an owner and the number of its
/// locks.
extern engine::lock_names const several;
void add_leases(std::span<engine::owned const> leases, std::vector<key>& locks, std::vector<arg>& owners);

/// `"a"`, `"a" and "b"`, `"a", "b" and 14 more`.
[[nodiscard]] std::string title_of(std::span<std::string_view const> names);

}  // namespace holdfast::sync
