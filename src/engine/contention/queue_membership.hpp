/// How callers enter a lock queue, and leave it early.
#pragma once

#include <holdfast/client.hpp>
#include <thread>

#include "engine/contention/grants.hpp"

namespace holdfast::engine {

/// All under the client's lock; `now` is the time of the event.
class queue_membership {
 public:
  queue_membership(reactor::loop& loop, lock_backend const& backend, client_constants const& client,
                   client_stats& counts, lock_queues const& queues, callers& waiting, contenders& contending,
                   acquire_requests& requests, grants& granting, notifications& wake) noexcept
      : loop_{loop},
        backend_{backend},
        client_{client},
        stats_{counts},
        queues_{queues},
        callers_{waiting},
        contenders_{contending},
        requests_{requests},
        grants_{granting},
        notifications_{wake} {}

  /// Afterwards the caller is in its queue, or finished.
  void enter(waiter& caller, time_point now) noexcept;
  /// The caller goes without the lock: it was cancelled, say.
  void leave(waiter& caller, time_point now) noexcept;
  /// The caller's time is up, or the reply that a try waits for is overdue.
  void on_time_up(waiter& caller, time_point now) noexcept;

  /// The process ends: locks that it gives back are for other processes. Its own callers wait on until their
  /// time is up, they are cancelled, or the process is over: an exception in a thread that doesn't expect it
  /// would end the process in another way. Callers of other threads get no lock from here on.
  void begin_exit(time_point now) noexcept;
  [[nodiscard]] bool exiting() const noexcept { return exiting_ != std::thread::id{}; }
  /// The client ends.
  void fail_all(std::shared_ptr<error const> const& reason, time_point now) noexcept;

 private:
  void enqueue(waiter& caller, time_point now);
  [[nodiscard]] milliseconds time_for_reply(waiter const& caller) const noexcept;
  [[nodiscard]] time_point end_without_reply(waiter const& caller, time_point now) const noexcept;
  [[nodiscard]] bool exiting_elsewhere() const noexcept {
    return exiting() && exiting_ != std::this_thread::get_id();
  }

  reactor::loop& loop_;
  lock_backend const& backend_;
  client_constants const& client_;
  client_stats& stats_;
  lock_queues const& queues_;
  callers& callers_;
  contenders& contenders_;
  acquire_requests& requests_;
  grants& grants_;
  notifications& notifications_;
  std::thread::id exiting_;  ///< the thread that has called exit()
};

}  // namespace holdfast::engine
