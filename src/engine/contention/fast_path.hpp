/// When a lock that is likely to be free is taken and given back without the full scripts, which cost a
/// server several times as much (docs/decisions/0021).
#pragma once

#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/lease_state.hpp"
#include "engine/lock_queue.hpp"
#include "script/preferred_ways.hpp"

namespace holdfast::engine {

/// A fast request takes its token from the counter with INCR, so the counter falls behind the server's clock,
/// and a server that has lost data would go on where that data ends. Therefore a fast request goes out only
/// shortly after a script has set the counter to the clock, and counts only if no connection has broken
/// since, no other server serves any key, and the counter has grown. All under the client's lock; `now` is
/// the time of the event.
class fast_path {
 public:
  fast_path(client_constants const& client, deferred_log& log, scripting::preferred_ways const& ways) noexcept
      : client_{client}, log_{log}, ways_{ways} {}

  /// Whether a contender's first request goes without a script.
  [[nodiscard]] bool fits(lock_queue const& queue, acquire_request const& request,
                          time_point now) const noexcept;
  /// Whether the answer to such a request decides. Otherwise the contender asks again, with the script.
  [[nodiscard]] bool decides(lock_queue& queue, answer<verdict> const& result, time_point now) noexcept;

  /// The lock is granted by a request sent then, with these tokens.
  void note_granted(lock_queue& queue, granted const& grant, time_point sent_at) noexcept;
  /// Whether a lease that no caller of this process waits for is given back by the short release. Also notes
  /// for the next request what the lease tells of the counter, or that the lock is contended.
  [[nodiscard]] bool worth_fast_release(lock_queue& queue, lease_state const& lease, time_point now) noexcept;

  /// A connection has broken, or another server serves, perhaps some keys of a cluster alone: the counters
  /// may be older than the tokens.
  void note_trouble(time_point now) noexcept { trouble_at_ = now; }

 private:
  [[nodiscard]] bool is_for(lock_queue const& queue) const noexcept {
    return queue.lock_recipe().fast_acquire != nullptr && ways_.locks_by_transaction;
  }
  void give_up(std::string_view reason) noexcept;

  client_constants const& client_;
  deferred_log& log_;
  scripting::preferred_ways const& ways_;
  time_point trouble_at_{};
  int cut_off_ = 0;       ///< requests that a connection broke at, before any was answered
  bool works_ = false;    ///< a fast request has been answered
  bool refused_ = false;  ///< the server, or a proxy before it, refuses the commands
};

}  // namespace holdfast::engine
