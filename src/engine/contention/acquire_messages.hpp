/// What messages mean for contenders.
#pragma once

#include <cstdint>
#include <holdfast/client.hpp>
#include <string>

#include "engine/contention/callers.hpp"
#include "engine/contention/ghosts.hpp"
#include "engine/contention/grants.hpp"

namespace holdfast::engine {

/// All under the client's lock; `now` is the time of the event.
class acquire_messages {
 public:
  acquire_messages(client_constants const& client, client_stats& counts, lock_queues const& queues,
                   notifications const& wake, callers& waiting, acquire_requests& requests, grants& granting,
                   ghosts& clearing) noexcept
      : stats_{counts},
        queues_{queues},
        notifications_{wake},
        callers_{waiting},
        requests_{requests},
        grants_{granting},
        ghosts_{clearing},
        trusted_{client.deployment.messages_trusted} {}

  /// A message in the inbox of a lock. A process that may publish there may use that lock; its messages count
  /// for no other lock.
  void on_message(std::string const& channel, turn_message const& message, time_point now);
  void on_woken(std::uint64_t number, time_point now);
  /// The channels of a contender are open, perhaps again: earlier messages are lost, so it asks.
  void on_open(std::uint64_t number, time_point now);
  /// From now on a message may come from a replica: a grant by it only leads to a request.
  void distrust() noexcept { trusted_ = false; }

 private:
  void wake_up(lock_queue& queue, time_point now) noexcept;
  void on_grant(lock_queue& queue, granted const& grant, time_point now);

  client_stats& stats_;
  lock_queues const& queues_;
  notifications const& notifications_;
  callers& callers_;
  acquire_requests& requests_;
  grants& grants_;
  ghosts& ghosts_;
  bool trusted_;  ///< see topology::traits::messages_trusted
};

}  // namespace holdfast::engine
