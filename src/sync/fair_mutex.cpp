#include <holdfast/fair_mutex.hpp>

#include <utility>

#include "sync/kind.hpp"

namespace holdfast {
namespace {

/// Every release lets the server choose the next waiter, and grants the lock at once.
lock_options normalize_fair_options(lock_options options) {
  options.starvation_limit = {};
  options.handoff_limit = 0;
  return options;
}

constexpr engine::exclusive_kind strict{.wires = sync::fair_wires,
                                        .normalize_options = normalize_fair_options,
                                        .again = engine::exclusive_kind::nesting::refused};

}  // namespace

fair_mutex::fair_mutex(client& redis, std::string name, lock_options options)
    : exclusive_lock{redis, std::move(name), options, strict} {}

}  // namespace holdfast
