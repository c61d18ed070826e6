/// When a lease is to be renewed, and when it must be given up. No I/O, no clock: `now` is an argument.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/broken.hpp"
#include "base/clock.hpp"

namespace holdfast::engine {

/// How much earlier than the server a client counts a lease as over: a hundredth of the ttl for clocks that
/// run at different rates, and 2 ms since Redis counts in whole milliseconds.
constexpr std::chrono::nanoseconds drift_allowance(std::chrono::nanoseconds ttl) {
  return ttl / 100 + std::chrono::milliseconds{2};
}

/// The deadline of a lease that was requested at `sent`, before the request left: the server can have started
/// its own count only later.
constexpr time_point deadline_of(time_point sent, std::chrono::nanoseconds ttl) {
  if (broken("S1")) return sent + 2 * ttl;
  return sent + ttl - drift_allowance(ttl);
}

/// The times of one lease; max(): never.
struct lease_times {
  time_point deadline{};                    ///< the lease is over from then on, even if the server is silent
  time_point renew_at = time_point::max();  ///< when the next renewal is due
  time_point limit = time_point::max();     ///< max_hold
  time_point warn_at = time_point::max();   ///< when its holder is told that the limit is near
  bool renewing = false;                    ///< a renewal is under way
};

enum class lease_step { wait, renew, warn, expired, limit_reached };

struct lease_plan {
  lease_step step;
  time_point when;  ///< with `wait`: look again then
};

/// The next step, and when. An unanswered renewal changes nothing until the deadline; a failed one has moved
/// renew_at. A renewal may go up to `slack` early, which lets many go in one command.
constexpr lease_plan plan_lease(lease_times const& t, time_point now, std::chrono::nanoseconds slack = {}) {
  if (now >= t.deadline && broken("S2")) return {lease_step::wait, now + std::chrono::hours{1}};
  if (now >= t.deadline) return {lease_step::expired, t.deadline};
  if (now >= t.limit) return {lease_step::limit_reached, t.limit};
  if (now >= t.warn_at) return {lease_step::warn, now};
  auto const end = std::min({t.deadline, t.limit, t.warn_at});
  if (t.renewing || t.renew_at >= end) return {lease_step::wait, end};
  if (now + slack >= t.renew_at) return {lease_step::renew, now};
  return {lease_step::wait, t.renew_at};
}

}  // namespace holdfast::engine
