/// Calls of threads that want a lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/busy_report.hpp"
#include "engine/contention/queue_membership.hpp"
#include "engine/deadlock/deadlocks.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/server_calls.hpp"

namespace holdfast::engine {

/// Called once: with the lease, with the error, or with neither when the time was up.
using acquire_handler = callback<void(lease_state_ptr, std::shared_ptr<error const>)>;

/// How long a caller waits; nullopt: without a limit. Zero or less: it only tries.
using wait_limit = std::optional<std::chrono::nanoseconds>;

/// What a caller does about a server that can't be reached before its first reply. After the first reply all
/// callers wait. client_options::patience limits both.
enum class outages {
  reported,          ///< it waits until its time is up; for connect_timeout if that has no limit, or is zero
  reported_at_once,  ///< it waits for connect_timeout, whatever the patience
  waited_out,        ///< it waits until its time is up: the server is known to exist
};

/// From any thread, without the lock. Each function takes the lock, starts its operation, and waits or
/// returns.
class lock_calls {
 public:
  lock_calls(reactor::loop& loop, client_constants const& client, call_gate& gate,
             queue_membership& membership, delayed_calls& delayed, busy_report& report,
             lock_backend const& backend, server_calls& server, deadlocks& circles) noexcept
      : loop_{loop},
        client_{client},
        gate_{gate},
        membership_{membership},
        delayed_{delayed},
        busy_report_{report},
        backend_{backend},
        server_{server},
        deadlocks_{circles} {}

  /// `amount`: the number of permits. A kind of lock without leases grants a lease that is over already.
  [[nodiscard]] lease_state_ptr acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                                        wait_limit wait, std::stop_token const& stop, int amount = 1,
                                        outages in_outage = outages::reported) {
    return acquire(queue, options, wait, stop, {.amount = amount, .in_outage = in_outage});
  }
  struct particulars {
    int amount = 1;
    outages in_outage = outages::reported;
    std::uint64_t in_place_of = 0;  ///< see waiter::in_place_of
    std::uint64_t number = 0;       ///< see waiter::number
    /// Called under the lock with the lease, before its caller has it.
    std::function<void(lease_state& granted)> on_granted{};
  };
  [[nodiscard]] lease_state_ptr acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                                        wait_limit wait, std::stop_token const& stop,
                                        particulars const& wanted);
  void async_acquire(lock_queue_ptr const& queue, effective_options_ptr const& options, wait_limit wait,
                     std::stop_token stop, acquire_handler done, int amount = 1,
                     outages in_outage = outages::reported) {
    async_acquire(queue, options, wait, std::move(stop), std::move(done),
                  {.amount = amount, .in_outage = in_outage});
  }
  void async_acquire(lock_queue_ptr const& queue, effective_options_ptr const& options, wait_limit wait,
                     std::stop_token stop, acquire_handler done, particulars const& wanted);

  /// The holder that the latest caller of this queue waits for, or went without the lock for. May ask the
  /// server for the record of its client.
  [[nodiscard]] std::optional<busy_info> last_busy(lock_queue const& queue);
  /// When that holder was last seen there; the clock's epoch: never.
  [[nodiscard]] time_point last_busy_at(lock_queue const& queue);

  /// See deadlocks::count_as_held.
  void count_as_held(std::vector<std::pair<std::string, std::string>> names_and_owners);

  /// Calls `done` after `time`, or when the client is shut down.
  void async_pause(std::chrono::nanoseconds time, callback<void()> done);

 private:
  void cancel(waiter& caller) noexcept;
  [[nodiscard]] time_point patient_until(wait_limit wait, outages in_outage, time_point now) const noexcept;

  reactor::loop& loop_;
  client_constants const& client_;
  call_gate& gate_;
  queue_membership& membership_;
  delayed_calls& delayed_;
  busy_report& busy_report_;
  lock_backend const& backend_;
  server_calls& server_;
  deadlocks& deadlocks_;
};

}  // namespace holdfast::engine
