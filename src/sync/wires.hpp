/// The recipes of each kind of lock on each wire, and the choice of one.
#pragma once

#include <holdfast/multi_name.hpp>
#include <holdfast/options.hpp>

#include <span>
#include <string>

#include "engine/core.hpp"

namespace holdfast::sync {

/// The recipes of one kind. Constant.
struct wires {
  engine::recipe const& plain;
  engine::recipe const& redisson;
  engine::recipe const* fenced;             ///< on Redisson's wire, with tokens; null: no tokens there
  engine::recipe const* on_etcd = nullptr;  ///< null: it isn't there
};

extern wires const exclusive_wires;
extern wires const fair_wires;
extern wires const multi_wires;
extern wires const quorum_wires;
/// The two sides of a shared_mutex.
struct shared_wires {
  wires writer;
  wires reader;
};
[[nodiscard]] shared_wires wires_of(sharing_policy policy) noexcept;
extern wires const permit_wires;
/// Redisson's wire has none.
extern wires const election_wires;

[[nodiscard]] bool on_redisson(lock_options const& options, engine::core const& client) noexcept;

/// Throws std::errc::invalid_argument when the kind lacks a requested feature on that wire, or when one of
/// the names can't be used there.
[[nodiscard]] engine::recipe const& choose(wires const& kind, std::span<std::string const> names,
                                           lock_options const& options, engine::core& client);

/// The same for the names of a multi_mutex that are taken in one step. A single name has the recipe, and so
/// the queue, of a mutex, of the readers of a shared_mutex, or of permits.
[[nodiscard]] engine::recipe const& choose(std::span<multi_name const> names, lock_options const& options,
                                           engine::core& client);

}  // namespace holdfast::sync
