/// How the callers of a lock queue leave it.
#pragma once

#include <holdfast/client.hpp>
#include <memory>

#include "engine/busy_report.hpp"
#include "engine/lock_queue.hpp"

namespace holdfast::engine {

/// Each caller is finished once. All under the client's lock; `now` is the time of the event.
class callers {
 public:
  callers(client_stats& counts, busy_report& report) noexcept : stats_{counts}, busy_report_{report} {}

  /// Lets a caller go with its results in place. Afterwards it isn't in the queue any more.
  void finish(waiter& caller, time_point now) noexcept;
  /// The caller is in the queue, and doesn't wait beyond the next reply.
  static void make_try(waiter& caller) noexcept;

  /// Callers that only try have their reply: the lock is busy, or `reason`.
  void finish_tries(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;
  /// Fails the callers that don't wait for the server any longer. True: others are left.
  bool fail_impatient(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;
  /// A null `reason`: they go without the lock.
  void fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;

 private:
  client_stats& stats_;
  busy_report& busy_report_;
};

}  // namespace holdfast::engine
