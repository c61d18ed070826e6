/// How the callers of a lock queue leave it.
#pragma once

#include <holdfast/client.hpp>
#include <memory>

#include "engine/busy_report.hpp"
#include "engine/lock_queue.hpp"
#include "engine/moments.hpp"

namespace holdfast::engine {

/// Each caller is finished once. All under the client's lock; `now` is the time of the event.
class callers {
 public:
  /// `noted`: null when nobody wants to know.
  callers(client_stats& counts, busy_report& report, moments* noted) noexcept
      : stats_{counts}, busy_report_{report}, moments_{noted} {}

  /// A caller has come.
  void begin(waiter& caller, time_point now) noexcept;
  /// The callers of a queue know that the lock is busy.
  void note_waiting(lock_queue& queue, time_point now) noexcept {
    if (moments_ != nullptr) moments_->waiting(queue, now);
  }
  /// The first caller of a queue has its place in the server's queue from here on.
  void note_queued(lock_queue const& queue, time_point now) noexcept {
    if (moments_ != nullptr) moments_->queued(queue.waiters.front(), now);
  }

  /// Its inbox was closed for a moment, in which releases may have passed it by.
  void note_not_certain(lock_queue const& queue) noexcept {
    if (moments_ != nullptr && !queue.waiters.empty()) moments_->not_certain(queue.waiters.front());
  }

  /// Lets a caller go with its results in place. Afterwards it isn't in the queue any more.
  void finish(waiter& caller, time_point now) noexcept;
  /// The caller is in the queue, and doesn't wait beyond the next reply.
  static void make_try(waiter& caller) noexcept;

  /// Callers that only try have their reply: the lock is busy, or `reason`.
  void finish_tries(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;
  /// Fails the callers that don't wait for the server any longer. True: others are left.
  bool fail_impatient(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;
  /// Fails the callers that wanted to turn that lease into this lock. True: others are left.
  bool fail_in_place_of(lock_queue& queue, std::uint64_t number, std::shared_ptr<error const> const& reason,
                        time_point now) noexcept;
  /// A null `reason`: they go without the lock.
  void fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;

 private:
  client_stats& stats_;
  busy_report& busy_report_;
  moments* moments_;
};

}  // namespace holdfast::engine
