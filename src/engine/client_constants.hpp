/// What never changes about a client, for all parts of its engine.
#pragma once

#include <cstdint>
#include <holdfast/error.hpp>
#include <holdfast/options.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/fork.hpp"
#include "base/hash_slot.hpp"
#include "net/deployment_url.hpp"
#include "topology/traits.hpp"

namespace holdfast::engine {

/// The deployment that a kind of lock, or another object, needs.
enum class deciders {
  one,       ///< a single one, whose reply is enough
  majority,  ///< several masters that vote
};

/// Constant after construction; for any thread.
struct client_constants {
  std::string uuid;
  client_options options;
  topology::traits deployment;
  holdfast::wire wire;                     ///< of locks whose options name none: plain or redisson
  std::string url;                         ///< for messages: without the password
  std::shared_ptr<error const> no_memory;  ///< the failure of callers when there is no memory for another one
  std::shared_ptr<error const> shut_down;  ///< the failure of callers at the end of the client

  int generation;  ///< see fork_generation

  /// This process is a forked child, and the client a copy of the parent's.
  [[nodiscard]] bool forked() const noexcept { return generation != fork_generation(); }
  /// How callers with these options are woken.
  [[nodiscard]] wake wake_of(lock_options const& of) const noexcept {
    return of.wake == wake::automatic ? options.wake : of.wake;
  }
  /// A waiter asks again in each `recheck`: it counts as dead after ten missed requests.
  [[nodiscard]] milliseconds credit() const noexcept { return 10 * options.recheck; }
  /// What stands in Redis for an acquisition: `number` is never used twice by this client.
  [[nodiscard]] std::string owner_id(std::uint64_t number) const {
    auto const digits = std::to_string(number);
    std::string id;
    id.reserve(uuid.size() + 1 + digits.size());
    id.append(uuid).append(1, ':').append(digits);
    return id;
  }
  /// Only names with the same number can be in one request.
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const noexcept {
    return deployment.slots ? hash_slot(name) : 0;
  }
  /// Throws std::errc::invalid_argument unless the client has the deployment, of Redis, that an object needs.
  void check_kind(deciders needed) const;
};

[[nodiscard]] client_constants make_client_constants(client_options options, net::deployment_url const& url);

}  // namespace holdfast::engine
