#include <holdfast/fair_mutex.hpp>

#include <utility>

#include "engine/effective_options.hpp"
#include "sync/kind.hpp"

namespace holdfast {
namespace {

lock_options normalize_fair_options(lock_options options) {
  return engine::without_handoffs(engine::in_server_order(options));
}

constexpr engine::exclusive_kind strict{.wires = sync::fair_wires,
                                        .normalize_options = normalize_fair_options,
                                        .again = engine::exclusive_kind::nesting::refused};

}  // namespace

fair_mutex::fair_mutex(client& redis, std::string name, lock_options options)
    : exclusive_lock{redis, std::move(name), options, strict} {}

}  // namespace holdfast
