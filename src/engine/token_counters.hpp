/// Searches (`ls`, `top`, `serve`) find the names of held locks by their token counters, each of which lives
/// for a day after somebody last took the lock. For locks that are held for longer, this keeps the counters.
#pragma once

#include <chrono>

#include "engine/lease_state.hpp"
#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// At once, for a key that stays when its lease has ended, so that nobody renews it: no command unless it is
/// for more than half a day. Under the client's lock.
void keep_token_counters(lock_backend& backend, lock_queue const& queue, milliseconds key_stays_for) noexcept;

/// Costs a command for each lease in half a day, all of a client within one of its renewals, whose times are
/// spread. Under the client's lock.
class token_counters {
 public:
  token_counters(lock_backend& backend, time_point begun) noexcept : backend_{backend}, begun_{begun} {}

  /// `lease` is new. Its counter lives for a day: that is enough, unless its first renewal is far.
  void taken(lease_state const& lease) noexcept;

  /// The server was asked to renew `lease` at `sent_at`, and before that at `before`, or a little later.
  void renewed(lease_state const& lease, time_point before, time_point sent_at) noexcept;

 private:
  [[nodiscard]] std::chrono::nanoseconds::rep half_day_of(time_point when) const noexcept;
  void prolong(lease_state const& lease) noexcept;

  lock_backend& backend_;
  time_point begun_;  ///< half days are counted from here
};

}  // namespace holdfast::engine
