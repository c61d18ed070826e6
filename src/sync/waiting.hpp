/// What those that are waited for, but not held, are given as options.
#pragma once

#include <holdfast/semaphore.hpp>

namespace holdfast::sync {

/// As the engine has them. What is about leases has no effect.
inline lock_options lock_options_of(waiting_options const& options) {
  lock_options all{};
  all.wake = options.wake;
  all.poll_floor = options.poll_floor;
  all.poll_cap = options.poll_cap;
  return all;
}

}  // namespace holdfast::sync
