/// Acquisitions of ours in the server that are to be given back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <holdfast/client.hpp>
#include <memory>
#include <utility>

#include "engine/batches.hpp"
#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/departed.hpp"
#include "engine/lock_backend.hpp"
#include "engine/release/owed_requests.hpp"
#include "engine/wake/notifications.hpp"

namespace holdfast::engine {

/// An acquisition that is given back to the server, for as long as it can be ours.
struct returned_lock {
  lock_queue_ptr queue;
  std::uint64_t number;
  release_policy policy;
  time_point deadline;          ///< the server has forgotten it by then
  time_point lease_deadline{};  ///< as the lease has it
  bool lost = false;            ///< before the release: the holder is told so
  bool copied = false;          ///< an earlier request for this may have been carried out
};

/// Releases them, and abandons what nobody waits for any more, until the server has confirmed it or has
/// forgotten them by itself. All under the client's lock; `now` is the time of the event.
class pending_releases {
 public:
  pending_releases(lock_backend& backend, client_constants const& client, deferred_log& log,
                   client_stats& counts, notifications const& wake, departed& past, delayed_calls& delayed,
                   owed_requests& owed) noexcept
      : backend_{backend},
        client_{client},
        log_{log},
        stats_{counts},
        notifications_{wake},
        departed_{past},
        delayed_{delayed},
        owed_{owed} {}

  /// Of a lease.
  [[nodiscard]] returned_lock item(lease_state const& lease, time_point now) const;

  /// A request for a lock with that ttl is sent.
  void note_ttl(milliseconds ttl) noexcept { longest_ttl_ = std::max(longest_ttl_, ttl); }
  /// Whether its key may have a longer ttl than the lease, from another caller's request.
  [[nodiscard]] bool may_outlive(lease_state const& lease) const noexcept {
    return lease.options().ttl < longest_ttl_;
  }

  /// When memory is short it is sent a little later, and `done` gets release_result::unknown.
  void send(returned_lock const& item, time_point now, release_handler done) noexcept;
  void send(lease_state const& lease, time_point now, release_handler done) noexcept {
    send(item(lease, now), now, std::move(done));
  }
  /// For the end of the client, which may have very many leases; they are lost already. Leases with waiters
  /// go one by one, but in the same write.
  void send_together(batches::leases leases, time_point now) noexcept;
  /// Cleans up after an acquisition that no caller waits for any more.
  void abandon(lock_queue& queue, std::uint64_t number, release_policy const& policy,
               time_point now) noexcept;

  /// The server has confirmed the release, in the reply to another request.
  void note_released(returned_lock const& item) noexcept;
  /// Sends the latest releases again: the server may have lost them.
  void repeat(time_point now) noexcept;

  /// At the end of the client: its number of releases is logged, and no single one.
  [[nodiscard]] std::size_t count_at_end() noexcept;
  /// The client ends: no release is repeated.
  void stop_repeating() noexcept { repeats_ = false; }

 private:
  struct release_under_way;
  [[nodiscard]] time_point end_of_key(lease_state const& lease, time_point now) const noexcept;
  void send(std::shared_ptr<release_under_way> const& pending);
  void on_answer(std::shared_ptr<release_under_way> const& pending, answer<ownership> const& result) noexcept;
  void send_batch(std::shared_ptr<batches::leases> const& leases, time_point now);
  void send_abandon(lock_queue_ptr const& queue, std::uint64_t number, release_policy const& policy,
                    time_point until, time_point now) noexcept;
  void owe_abandon(lock_queue_ptr const& queue, std::uint64_t number, release_policy const& policy,
                   time_point until, time_point now) noexcept;
  void on_batch_answer(batches::leases const& leases, answer<still_wanted> const& result,
                       time_point now) noexcept;

  lock_backend& backend_;
  client_constants const& client_;
  deferred_log& log_;
  client_stats& stats_;
  notifications const& notifications_;
  departed& departed_;
  delayed_calls& delayed_;
  owed_requests& owed_;
  milliseconds longest_ttl_{};  ///< of all requests of this client
  std::size_t unconfirmed_ = 0;
  bool unconfirmed_logged_ = false;  ///< their number at the end has been logged: no more single warnings
  bool repeats_ = true;
};

}  // namespace holdfast::engine
