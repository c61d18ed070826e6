/// A hold of a lock that is known by its owner id, for processes other than the one that acquired it.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::probe {

/// A hold as the server has it.
struct owned_hold {
  hold_side side = hold_side::exclusive;
  std::int64_t permits = 0;  ///< of a permit: how many there are altogether
};

/// Looks at, renews and releases that owner's hold, and nobody else's: the scripts of the lock's own kind
/// compare the owner. Each operation blocks until the server answers, of a quorum until all masters have
/// answered or failed to. Throws errc::unreachable and the like.
class owned_lock {
 public:
  /// `owner`: as `lease::owner()` says it. `url`: what `redis` was made of; with redis+quorum:// each master
  /// is asked by a connection of its own. `of`: only a hold on this wire; `automatic`: on whichever it is,
  /// and of a quorum on the client's.
  owned_lock(client& redis, std::string_view url, std::string name, std::string owner,
             wire of = wire::automatic);
  ~owned_lock();
  owned_lock(owned_lock const&) = delete;
  owned_lock& operator=(owned_lock const&) = delete;

  /// Nullopt: it isn't held by that owner.
  [[nodiscard]] std::optional<owned_hold> look();

  /// Sets what is left of the hold. False: it isn't held by that owner.
  [[nodiscard]] bool renew(std::chrono::milliseconds ttl);

  /// Gives the lock back, which wakes the next waiter. False: it isn't held by that owner, and nothing was
  /// done.
  [[nodiscard]] bool release();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::probe
