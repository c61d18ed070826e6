/// The queue of a lock on the plain wire.
#pragma once

#include "law.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "script/names.hpp"

namespace holdfast::test {

/// The owner ids of the waiters, the first to wait first.
[[nodiscard]] inline std::vector<std::string> waiters_in(raw_redis& raw, std::string const& queue) {
  std::vector<std::string> owners;
  for (auto const& member : raw.command({"ZRANGE", queue, "0", "-1"}).elements) {
    auto const says_how_many_permits = member.text.ends_with(":p");
    if (!says_how_many_permits) owners.push_back(member.text);
  }
  return owners;
}

/// The inbox of the waiter for this lock is open: a release passes over a waiter without.
[[nodiscard]] inline bool hears_of(raw_servers& raw, std::string_view lock, std::string_view waiter) {
  return raw.listeners(names::inbox(waiter.substr(0, 36), lock)) >= 1;
}

/// Returns when so many wait for the lock, and hear of its release.
[[nodiscard]] inline bool has_waiters(raw_servers& raw, std::string_view lock, std::string const& queue,
                                      std::size_t count) {
  return eventually([&] {
    auto const waiters = waiters_in(raw, queue);
    return waiters.size() == count &&
           std::ranges::all_of(waiters, [&](auto const& waiter) { return hears_of(raw, lock, waiter); });
  });
}

}  // namespace holdfast::test
