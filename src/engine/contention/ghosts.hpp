/// Past acquisitions that a server still has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/holders.hpp"
#include "engine/lock_queues.hpp"
#include "engine/release/pending_releases.hpp"

namespace holdfast::engine {

/// A server has ghosts when it has older data than before: restarted from a snapshot, or a replica that took
/// over. This process is alive, so only it knows that those acquisitions are over. All under the client's
/// lock; `now` is the time of the event.
class ghosts {
 public:
  ghosts(lock_backend& backend, client_constants const& client, lock_queues const& queues,
         holders const& held, departed& past, notifications const& wake, pending_releases& releases) noexcept
      : backend_{backend},
        client_{client},
        queues_{queues},
        holders_{held},
        departed_{past},
        notifications_{wake},
        pending_releases_{releases} {}

  /// If the holder in the way of the queue's contender is a past acquisition of this client, gives that back
  /// (again). True: the contender should ask once more. Owner ids are never reused, so this harms no other
  /// owner.
  [[nodiscard]] bool clear(lock_queue& queue, std::string_view holder, time_point now);

  /// Handles a message for a contender that is gone. Usually the server knows of its end, and this changes
  /// nothing. But the server may have fallen back to a time when the contender waited: then the wake-up, or a
  /// grant of two seconds, would be lost.
  void answer_for(std::uint64_t number, std::string_view name, time_point now);

  /// At the end of the client: nothing counts as a ghost.
  void stop() noexcept { stopped_ = true; }

 private:
  [[nodiscard]] bool is_over(std::uint64_t number, std::span<std::string_view const> names,
                             time_point now) const;
  /// Looks at the queues of those names, of any kind; at all queues if a kind with several names is in use.
  template <class Predicate>
  [[nodiscard]] bool any_queue_of(std::span<std::string_view const> names, Predicate fits) const;
  /// For the answers to requests that give back what has that number.
  [[nodiscard]] callback<void(net::response&&)> noting(std::uint64_t number) const;

  lock_backend& backend_;
  client_constants const& client_;
  lock_queues const& queues_;
  holders const& holders_;
  departed& departed_;
  notifications const& notifications_;
  pending_releases& pending_releases_;
  bool stopped_ = false;
};

}  // namespace holdfast::engine
