/// The contenders of lock queues: how they begin and end.
#pragma once

#include <cstdint>
#include <functional>
#include <holdfast/client.hpp>
#include <memory>

#include "engine/client_constants.hpp"
#include "engine/contention/callers.hpp"
#include "engine/lock_queues.hpp"
#include "engine/release/pending_releases.hpp"
#include "engine/wake/notifications.hpp"

namespace holdfast::engine {

/// A queue has at most one contender. When a function fails for want of memory, its caller puts right what it
/// has changed: a contender that is left without a request asks again. All under the client's lock; `now` is
/// the time of the event.
class contenders {
 public:
  struct events {
    std::function<void(lock_queue&)> retry;  ///< the contender's pause is over: it asks
    std::function<void()> mend;              ///< queues may have callers and no contender
  };

  contenders(reactor::loop& loop, client_constants const& client, client_stats& counts, lock_queues& queues,
             callers& waiting, notifications& wake, pending_releases& releases, events handlers);

  /// For the first caller of the queue. Throws std::bad_alloc.
  contender& open(lock_queue& queue, time_point now);
  /// It is over here; the server may still have traces of it.
  void end(lock_queue& queue, time_point now) noexcept;
  /// No caller here wants the lock any more: leaves no traces, and passes on a wake-up that others may be
  /// waiting for.
  void withdraw(lock_queue& queue, time_point now) noexcept;
  /// Callers that this queue was ahead of may ask, if they gave way to it: see acquire_requests::gives_way.
  void let_other_side_ask(lock_queue const& queue, time_point now) noexcept;
  /// Fails all callers of the queue, and withdraws its contender.
  void fail_all(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;

  /// Nothing was sent for the contender with that number, for want of memory.
  void on_unsent(lock_queue& queue, std::uint64_t number, time_point now) noexcept;
  /// A step of the contender with that number failed for want of memory, and no request is under way.
  void ask_again_soon(lock_queue& queue, std::uint64_t number, time_point now) noexcept;
  /// There was no memory to begin a contender.
  void mend_soon(time_point now) noexcept;

 private:
  reactor::loop& loop_;
  client_constants const& client_;
  client_stats& stats_;
  lock_queues& queues_;
  callers& callers_;
  notifications& notifications_;
  pending_releases& pending_releases_;
  events events_;
  reactor::timer mending_;
};

}  // namespace holdfast::engine
