/// How one kind of lock looks on each wire, and which of them an object uses.
#pragma once

#include <holdfast/options.hpp>

#include <span>
#include <string>

#include "engine/core.hpp"

namespace holdfast::sync {

/// The recipes of one kind. Constant.
struct wires {
  engine::recipe const& plain;
  engine::recipe const& redisson;
  engine::recipe const* fenced;  ///< on Redisson's wire, with tokens; null: it has none there
};

extern wires const exclusive_wires;
extern wires const fair_wires;
extern wires const multi_wires;
extern wires const quorum_wires;
extern wires const lone_wires;  ///< of a multi_mutex with one name: the lines of a mutex

/// Throws std::errc::invalid_argument when the kind doesn't have what is asked for on that wire, or one of
/// the names can't be used there.
[[nodiscard]] engine::recipe const& choose(wires const& kind, std::span<std::string const> names,
                                           lock_options const& options, engine::core const& client);

}  // namespace holdfast::sync
