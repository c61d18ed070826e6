/// Looking at locks, and releases by force, on etcd: a viewer does what scripts do on Redis.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

#include "engine/core.hpp"

namespace holdfast::inspection::on_etcd {

/// Throws std::errc::invalid_argument for a wire that isn't there.
void check_wire(engine::core const& server, wire of);

[[nodiscard]] lock_on_wires look(engine::core& server, std::string_view name, std::size_t queue_entries);
void for_each_lock(engine::core& server, std::string_view pattern,
                   std::function<bool(lock_state const&)> const& f);
[[nodiscard]] force_result force_release(engine::core& server, std::string_view name,
                                         force_options const& options);

}  // namespace holdfast::inspection::on_etcd
