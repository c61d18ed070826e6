/// What an election on etcd asks of a viewer: its format is that of Go's concurrency.Election.
#pragma once

#include <holdfast/busy_info.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "engine/core.hpp"
#include "sync/leader_watch.hpp"

namespace holdfast::sync::on_etcd {

[[nodiscard]] leader_look look_at_leader(engine::core& core, std::string const& name);

/// By their leases; the values of candidates say nothing else of them.
[[nodiscard]] std::vector<process_info> candidates(engine::core& core, std::string const& name);

/// Whether that candidate leads next; false: it doesn't wait. Throws std::errc::invalid_argument if others
/// come before it: there nobody leads before those that came earlier.
[[nodiscard]] bool is_next(engine::core& core, std::string const& name, std::string_view candidate);

}  // namespace holdfast::sync::on_etcd
