/// A wait on a condition for which no thread waits.
#pragma once

#include <holdfast/condition.hpp>

#include <optional>
#include <stop_token>
#include <string>

#include "engine/core.hpp"

namespace holdfast::sync {

/// `held`, which is one of the lock `name` of this client, is taken: see condition::async_wait. When it
/// throws nothing was begun, and `held` is as before.
void async_wait_on_condition(engine::core& core, std::string const& name, lease& held,
                             engine::wait_limit time, condition::wait_handler done, std::stop_token stop);

}  // namespace holdfast::sync
