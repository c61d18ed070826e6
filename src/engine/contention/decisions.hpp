/// What the waiting loop decides. No I/O, no clock: `now` is an argument.
#pragma once

#include <chrono>

#include "engine/lease_state.hpp"
#include "engine/lock_queue.hpp"
#include "net/pipeline.hpp"

namespace holdfast::engine {

/// What becomes of a grant to a queue's contender.
enum class grant_use {
  lease,           ///< a lease for the first caller
  for_good,        ///< the first caller has what it wants, without a lease
  other_caller,    ///< it is for another amount than the first caller wants, or under another value
  copied,          ///< it lasts, and a copy of the request may come when it was given back
  unacknowledged,  ///< the first caller wants it to be acknowledged, which the request didn't ask for
  expired,         ///< its ttl was over when it came
  other_ttl,       ///< the first caller wants the lock for another time, and renewals can't give it that
};

/// `deadline`, `ttl`: of the grant. The queue has a contender, and callers.
[[nodiscard]] grant_use use_of_grant(lock_queue const& queue, time_point deadline, milliseconds ttl,
                                     bool on_etcd, time_point now) noexcept;

/// Whether a copy of one of the contender's requests may still come, and take for good what nobody gives
/// back.
[[nodiscard]] bool may_take_for_nobody(lock_queue const& queue) noexcept;

/// Whether a grant, of a request that was sent then, is good for that caller. A latch may have been closed
/// between the request and the caller.
[[nodiscard]] bool is_good_for(waiter const& caller, time_point sent_at) noexcept;

/// The ttl of a grant that a message brings.
[[nodiscard]] milliseconds ttl_by_message(contender const& asked) noexcept;

/// Whether such a grant is used without asking the server. `trusted`: see topology::traits.
[[nodiscard]] bool believes(lock_queue const& queue, granted const& grant, bool trusted,
                            time_point now) noexcept;

/// Whether a lease that ends here goes to the queue's next caller, without a request: not too often in a row,
/// so that others get their turn, and only if that caller wants the lock on the same terms.
[[nodiscard]] bool may_hand_over(lock_queue const& queue, lease_state const& from, time_point now) noexcept;

/// Whether the next caller, of a queue without a contender, goes to the server in one request with the
/// release. `by_message`: messages wake it.
[[nodiscard]] bool may_pass(lock_queue const& queue, bool by_message) noexcept;

/// Whether the server has taken the lease away, or was asked to by force.
[[nodiscard]] bool taken_away(loss_cause cause) noexcept;

/// Whether the key of a lease that is over, or ends now, is to stay for its ttl.
[[nodiscard]] bool keeps_key(lease_state const& lease) noexcept;

/// Whether a lease that was lost may still be ours in the server, so that others needn't wait for its ttl.
[[nodiscard]] bool still_to_release(lease_state const& lease, time_point now) noexcept;

/// How long a contender's next request waits for the server.
struct request_patience {
  net::retry_policy while_down = net::retry_policy::little;
  time_point give_up = time_point::max();
  bool of_first = false;  ///< that is the time of the first caller, and others may wait for longer

  /// Only the end of an outage ends the request.
  [[nodiscard]] bool endless() const noexcept {
    return while_down == net::retry_policy::endless && give_up == time_point::max();
  }
};
/// `patience`: that of the client.
[[nodiscard]] request_patience patience_of(contender const& asking, waiter const& first,
                                           milliseconds patience, time_point now) noexcept;

/// `other`: the queue of the lock's other side. Whether its first caller came before a caller that came then,
/// and found the lock busy.
[[nodiscard]] bool waits_ahead(lock_queue const& other, time_point came_at) noexcept;

/// Where the order is strict no caller inherits a place: whether the contender may have the place of an
/// earlier caller than the first one.
[[nodiscard]] bool has_place_of_another(lock_queue const& queue) noexcept;

/// Whether the contender has asked for another amount than the first caller wants, or with another value.
/// That request may have been carried out, although it was answered with an error: then the same owner would
/// be told again that it is granted, and its caller would give back the wrong amount, or lead under the wrong
/// value.
[[nodiscard]] bool asked_for_something_else(lock_queue const& queue) noexcept;

/// How long a contender sleeps that messages wake: until the end of the holder's ttl, or `recheck`.
[[nodiscard]] std::chrono::nanoseconds time_to_recheck(busy const& seen, milliseconds recheck) noexcept;
/// How long a contender sleeps that polls: `pause`, or until the end of the holder's ttl.
[[nodiscard]] std::chrono::nanoseconds time_to_poll(busy const& seen,
                                                    std::chrono::nanoseconds pause) noexcept;
/// When it asks again: a message may have been lost, and the lock be free or even ours, so the first caller
/// asks once more before it leaves.
[[nodiscard]] time_point end_of_sleep(waiter const& first, std::chrono::nanoseconds pause,
                                      time_point now) noexcept;

}  // namespace holdfast::engine
