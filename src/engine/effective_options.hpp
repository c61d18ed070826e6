/// The options of one lock, checked and with defaults resolved.
#pragma once

#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <chrono>
#include <holdfast/options.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace holdfast::engine {

/// Whether a lease with these options may be one of several that share an acquisition: not with limits of
/// number or time, as each lease would have to count them for itself.
[[nodiscard]] inline bool shareable(lock_options const& options) noexcept {
  return options.watchdog && options.max_renewals == 0 && options.max_hold.count() == 0 && !options.keep &&
         options.replicas == 0 && !options.fsynced;
}

/// Whether a caller with options `wanted` may take over an acquisition that was made with options `from`.
[[nodiscard]] inline bool may_inherit(lock_options const& wanted, lock_options const& from) noexcept {
  return wanted.watchdog && from.watchdog && wanted.ttl == from.ttl && wanted.replicas <= from.replicas &&
         (!wanted.fsynced || from.fsynced);
}

/// For kinds with strict order: each release grants the lock to the first waiter. A waiter that is only told
/// to ask may be overtaken.
[[nodiscard]] inline lock_options in_server_order(lock_options options) noexcept {
  options.starvation_limit = {};
  return options;
}

/// For kinds whose release lets the server choose in this process, too.
[[nodiscard]] inline lock_options without_handoffs(lock_options options) noexcept {
  options.handoff_limit = 0;
  return options;
}

/// Shared by all leases of one lock object; constant after construction.
struct effective_options : boost::intrusive_ref_counter<effective_options, boost::thread_safe_counter> {
  explicit effective_options(lock_options const& requested, int permits = 0,
                             std::optional<std::string> proclaimed = std::nullopt)
      : options{requested},
        size{permits},
        value{std::move(proclaimed)},
        renewal_interval{requested.renew_every.count() > 0 ? requested.renew_every : requested.ttl / 3} {}

  /// An acquisition counts only when replicas or a disk have it, too.
  [[nodiscard]] bool wants_acknowledgement() const noexcept {
    return options.replicas > 0 || options.fsynced;
  }

  lock_options options;
  int size;                          ///< see acquire_request
  std::optional<std::string> value;  ///< the same
  std::chrono::nanoseconds renewal_interval;
};

using effective_options_ptr = boost::intrusive_ptr<effective_options const>;

}  // namespace holdfast::engine
