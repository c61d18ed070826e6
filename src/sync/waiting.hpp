/// Options of the kinds that are waited for but not held.
#pragma once

#include <holdfast/semaphore.hpp>

namespace holdfast::sync {

/// The options in the form of the engine. Those about leases have no effect.
inline lock_options lock_options_of(waiting_options const& options) {
  lock_options all{};
  all.wake = options.wake;
  all.poll_floor = options.poll_floor;
  all.poll_cap = options.poll_cap;
  all.wire = options.wire;
  return all;
}

}  // namespace holdfast::sync
