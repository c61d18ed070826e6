#include <holdfast/fair_mutex.hpp>

#include <utility>

#include "sync/kind.hpp"

namespace holdfast {
namespace {

/// Every release asks the server whose turn it is, and grants it at once.
lock_options in_order(lock_options asked) {
  asked.starvation_limit = {};
  asked.handoff_limit = 0;
  return asked;
}

constexpr engine::exclusive_kind strict{.wires = sync::fair_wires,
                                        .normalize_options = in_order,
                                        .again = engine::exclusive_kind::nesting::refused};

}  // namespace

fair_mutex::fair_mutex(client& redis, std::string name, lock_options options)
    : exclusive_lock{redis, std::move(name), options, strict} {}

}  // namespace holdfast
