#include <holdfast/recursive_mutex.hpp>

#include <utility>

#include "sync/kind.hpp"

namespace holdfast {
namespace {

constexpr engine::exclusive_kind counted{.wires = sync::exclusive_wires,
                                         .normalize_options = [](lock_options options) { return options; },
                                         .again = engine::exclusive_kind::nesting::counted};

}  // namespace

recursive_mutex::recursive_mutex(client& redis, std::string name, lock_options options)
    : exclusive_lock{redis, std::move(name), options, counted} {}

}  // namespace holdfast
