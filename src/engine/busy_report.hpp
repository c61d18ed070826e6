/// The holder that is in the way of a caller, or was when it went without the lock.
#pragma once

#include <holdfast/busy_info.hpp>
#include <optional>

#include "engine/client_constants.hpp"
#include "engine/lock_queue.hpp"

namespace holdfast::engine {

/// What this client knows of the holder in the way of `caller`, which is in its queue or has just left it, as
/// `now`. Callers before it in this process's queue count as ahead. Nullopt: no busy reply has come.
[[nodiscard]] std::optional<busy_info> obstacle_of(waiter const& caller, client_constants const& client,
                                                   time_point now);

/// Notes who was in the way, and completes it by the record of the holder's client. All under the client's
/// lock, but for describe_if_own.
class busy_report {
 public:
  explicit busy_report(client_constants const& client) noexcept : client_{client} {}

  /// Notes it in the caller's queue. Without memory the earlier report stays.
  void note(waiter const& caller, time_point now) noexcept;

  /// What the latest caller of that queue waits for, or went without the lock for; with the holder's record
  /// if that was the last one read.
  [[nodiscard]] std::optional<busy_info> latest(lock_queue const& queue, time_point now) const;
  /// Since when that is known; the clock's epoch: there is none.
  [[nodiscard]] static time_point latest_at(lock_queue const& queue, time_point now) noexcept;
  /// A record that was read.
  void remember(process_info const& record) { known_ = record; }

  /// Describes a holder of this client. False: it belongs to another client.
  bool describe_if_own(process_info& holder) const;

 private:
  client_constants const& client_;
  process_info known_;  ///< the last record that was read
};

}  // namespace holdfast::engine
