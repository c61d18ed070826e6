/// The waiting loop: how callers get a lock, for every kind of lock.
#pragma once

#include "engine/contention/acquire_messages.hpp"
#include "engine/contention/lease_ends.hpp"
#include "engine/contention/queue_membership.hpp"

namespace holdfast::engine {

/// What the waiting loop works with. All of it outlives `contention`.
struct contention_parts {
  reactor::loop& loop;
  lock_backend& backend;
  client_constants const& client;
  deferred_log& log;
  scripting::preferred_ways const& ways;
  client_stats& stats;
  lock_queues& queues;
  holders& held;
  departed& past;
  renewer& watchdog;
  notifications& wake;
  acknowledgements& acknowledged;
  presence& own_presence;
  busy_report& report;
  late_responses& late;
  delayed_calls& delayed;
  kept_keys& kept;
  pending_releases& releases;
  moments* noted;  ///< null: nobody wants to know
};

/// The callers of one name stand in a queue inside the client; the queue has at most one contender at the
/// server. Each member calls those before it only; what a contender's timer and responses set off comes back
/// by the functions that they are given here. All under the client's lock.
struct contention {
  explicit contention(contention_parts const& of);
  contention(contention const&) = delete;
  contention& operator=(contention const&) = delete;

  fast_path fast;
  callers waiting;
  contenders contending;
  acquire_requests requests;
  grants granting;
  ghosts clearing;
  acquire_answers answers;
  acquire_messages messages;
  lease_ends ends;
  queue_membership membership;
};

}  // namespace holdfast::engine
