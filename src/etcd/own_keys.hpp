/// What requests say of all keys of a place: of one name or of several. No I/O.
#pragma once

#include <span>
#include <vector>

#include "etcd/messages.hpp"
#include "etcd/place.hpp"

namespace holdfast::etcd::own_keys {

/// That each is as it is said here.
[[nodiscard]] inline std::vector<condition> all(place const& of, decltype(condition::equals) const& equal) {
  std::vector<condition> conditions;
  conditions.reserve(of.keys.size());
  for (auto const& each : of.keys) conditions.push_back({.key = each, .equals = equal});
  return conditions;
}

inline void add_puts(std::vector<operation>& to, place const& of) {
  for (auto const& each : of.keys)
    to.emplace_back(put{.key = each, .value = of.value, .lease = of.lease->id});
}

inline void add_removals(std::vector<operation>& to, place const& of) {
  for (auto const& each : of.keys) to.emplace_back(remove{each});
}

inline void add_reads(std::vector<operation>& to, place const& of) {
  for (auto const& each : of.keys) to.emplace_back(range{.key = each});
}

/// Those that are there, by the answers to such reads.
[[nodiscard]] inline std::vector<key_value> found_in(std::span<found const> answers) {
  std::vector<key_value> there;
  for (auto const& each : answers) there.insert(there.end(), each.keys.begin(), each.keys.end());
  return there;
}

}  // namespace holdfast::etcd::own_keys
