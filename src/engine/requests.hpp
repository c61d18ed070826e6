/// What the engine asks for, whatever the kind of lock. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::engine {

using std::chrono::milliseconds;

/// How long a lock granted by message holds before its first renewal: the cost of a frozen waiter.
constexpr milliseconds grant_ttl{2000};

/// How a script notifies waiters.
enum class publishing : std::uint8_t {
  counted,    ///< the server knows all listeners, and says how many heard it; none: the process is gone
  sharded,    ///< the same, in a cluster: over channels in the slot of the lock
  uncounted,  ///< in a cluster that lacks such channels, or isn't known yet: no count of listeners
};

/// The word that the scripts expect.
constexpr std::string_view word_of(publishing mode) noexcept {
  switch (mode) {
    case publishing::counted:
      return "PUBLISH";
    case publishing::sharded:
      return "SPUBLISH";
    case publishing::uncounted:
      break;
  }
  return "UNCOUNTED";
}

/// Why a contender is given up.
enum class departure : std::uint8_t {
  left,         ///< its caller was cancelled, or failed
  timed_out,    ///< its caller has waited for as long as it wanted to
  may_be_told,  ///< as left; a reply that came too late, or was lost, said that it has what it waited for
};

/// Whom a release notifies, and how.
struct release_policy {
  std::chrono::microseconds starvation{};  ///< a waiter that waited longer is granted the lock
  milliseconds grant = grant_ttl;          ///< how long that grant lasts, until the new holder renews
  milliseconds
      credit{};  ///< how long a place in the queue outlives the last sign of life (Redisson's fair lock)
  bool quiet = false;  ///< no messages: the user chose to poll, perhaps since there is no pub/sub
  bool fast = false;   ///< perhaps nobody waits: see recipe::fast_release
  publishing publish = publishing::counted;
  /// Nobody is known to wait, or to have waited for long: the release may go in steps (see net::request).
  bool in_steps = false;
  departure why = departure::left;  ///< of a contender that is given up
  bool copied = false;              ///< a connection broke, and may still carry one of its requests
};

/// A request to take the lock.
struct acquire_request {
  std::string_view owner;
  milliseconds ttl{};
  int tokens = 1;     ///< fencing tokens requested: one for the lease, more for handoffs behind it
  int amount = 1;     ///< permits requested; on Redisson's wire something else: see lock_binding::acquire
  int size = 0;       ///< the permits of a semaphore that has none yet, when its object was told; else 0
  bool join = false;  ///< wait in the queue when it is busy
  bool listening = false;              ///< the channels of the contender are subscribed
  std::string_view ticket{};           ///< since when it waits, by the server's clock; empty: not known yet
  std::chrono::microseconds waited{};  ///< how long the caller has been waiting, by its own clock
  std::int64_t newest = 0;             ///< the newest token it has seen; 0: none yet
  std::uint64_t number = 0;            ///< of a vote: see quorum::number_to
  std::uint64_t in_place_of = 0;       ///< the number of the client's lease that it would take the place of
  bool fast = false;                   ///< perhaps it is free: see recipe::fast_acquire
  /// What a candidate will say as the leader, where its place in the queue says so from the beginning (etcd);
  /// elsewhere it is published behind the grant.
  std::optional<std::string_view> value{};
  release_policy policy{};  ///< its own starvation limit, and the policy for what it gives back
};

struct owned {
  std::string_view name;
  std::string_view owner;
};

}  // namespace holdfast::engine
