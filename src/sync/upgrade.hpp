/// Turns the upgrade lease of a shared_mutex into a writer.
#pragma once

#include <holdfast/upgradable_lock.hpp>

#include <stop_token>

#include "sync/lock_binding.hpp"

namespace holdfast::sync {

/// `held`, the upgrade lease, is one of `writers` afterwards: see upgradable_lock::upgrade. False: others
/// still read after that time.
[[nodiscard]] bool upgrade(lease& held, lock_binding const& writers, engine::wait_limit wait,
                           std::stop_token stop);

/// The same without waiting. When it throws nothing was begun, and `held` is as before.
void async_upgrade(lease& held, lock_binding const& writers, engine::wait_limit wait,
                   upgradable_lock::upgrade_handler done, std::stop_token stop);

}  // namespace holdfast::sync
