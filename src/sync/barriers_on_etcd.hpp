/// Barriers on etcd, outside of the engine.
#pragma once

#include <cstdint>
#include <string>

#include "engine/core.hpp"

namespace holdfast::sync::on_etcd {

/// Gives up the arrival from that seat, and returns the generation that has opened for it meanwhile; 0: none.
/// Throws when etcd can't be asked.
[[nodiscard]] std::int64_t time_up_at_barrier(engine::core& core, std::string const& seat);

}  // namespace holdfast::sync::on_etcd
