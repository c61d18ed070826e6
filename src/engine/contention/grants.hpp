/// How a lock comes to the callers of a queue.
#pragma once

#include <cstdint>
#include <holdfast/client.hpp>

#include "engine/contention/acquire_requests.hpp"
#include "engine/presence.hpp"
#include "engine/renewer.hpp"

namespace holdfast::engine {

/// Makes leases of grants, and gives them to callers. All under the client's lock; `now` is the time of the
/// event, after the grant has come.
class grants {
 public:
  grants(client_constants const& client, client_stats& counts, holders& held, callers& waiting,
         contenders& contending, acquire_requests& requests, late_responses& late, renewer& watchdog,
         presence& own_presence, fast_path& fast) noexcept
      : client_{client},
        stats_{counts},
        holders_{held},
        callers_{waiting},
        contenders_{contending},
        requests_{requests},
        late_responses_{late},
        renewer_{watchdog},
        presence_{own_presence},
        fast_path_{fast} {}

  /// The queue's contender has got the lock, for `ttl` after `sent_at`. Throws std::bad_alloc; the
  /// contender is still there then, and asks again.
  void on_granted(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl,
                  time_point now);

  /// Gives the caller a share in an acquisition of this process. False: there is none.
  bool join(waiter& caller, time_point now);

  /// Gives the lock to the next caller of this process, without a request. False: it has to go back to the
  /// server.
  bool hand_over(lock_queue& queue, lease_state& from, time_point now) noexcept;

 private:
  void on_expired(lock_queue& queue, milliseconds ttl, time_point now);
  void make_lease(lock_queue& queue, granted const& grant, time_point sent_at, milliseconds ttl,
                  time_point now);
  void ask_again(lock_queue& queue, time_point now) noexcept;
  void take_for_good(lock_queue& queue, std::int64_t token, time_point sent_at, time_point now);
  void serve_others(lock_queue& queue, time_point now) noexcept;
  void give(waiter& caller, lease_state_ptr const& lease, time_point now) noexcept;
  static void set_limits(lease_state& lease, time_point now);

  client_constants const& client_;
  client_stats& stats_;
  holders& holders_;
  callers& callers_;
  contenders& contenders_;
  acquire_requests& requests_;
  late_responses& late_responses_;
  renewer& renewer_;
  presence& presence_;
  fast_path& fast_path_;
};

}  // namespace holdfast::engine
