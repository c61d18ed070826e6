/// A check that locks leave no keys behind.
#pragma once

#include "eventually.hpp"
#include "raw_redis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {

/// Keys that stay on purpose when a lock is gone: for a day its token counter and, in a quorum, its newest
/// acquire request; and the record of a client, until the client ends.
inline bool outlives_locks(std::string const& key) {
  return key.ends_with(":holdfast_token") || key.ends_with(":holdfast_newest_ask") ||
         key.ends_with(":holdfast_gave_up") || key.starts_with("holdfast_client:") ||
         key.starts_with("redisson_lock_token:");
}

/// The keys that a lock must not leave behind, sorted: the order in which Redis lists keys depends on the
/// other keys.
[[nodiscard]] inline std::vector<std::string> leftover_keys(raw_redis& server) {
  auto keys = server.keys();
  std::erase_if(keys, outlives_locks);
  std::ranges::sort(keys);
  return keys;
}

/// Waits until two looks in a row find no key: `look` lists the keys of locks that are left. Each key that
/// stays fails the test, in the words of `describe`.
/// A request that was under way when its caller left may be carried out between two looks; it is taken back
/// when it is answered.
template <std::invocable Look, class Describe = std::identity>
[[nodiscard]] bool nothing_left_behind(Look look, Describe describe = {}) {
  if (eventually([&] { return look().empty() && look().empty(); })) return true;
  for (auto const& key : look()) ADD_FAILURE() << "left behind: " << describe(key);
  return false;
}

/// The same at one server, with the ttl of each key that stays.
[[nodiscard]] inline bool nothing_left_behind(raw_redis& server) {
  return nothing_left_behind(
      [&] { return leftover_keys(server); },
      [&](std::string const& key) { return key + " with ttl " + std::to_string(server.pttl(key)); });
}

}  // namespace holdfast::test
