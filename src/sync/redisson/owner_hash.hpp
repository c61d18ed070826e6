/// What the exclusive locks on Redisson's wire have in common.
#pragma once

#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/names_redisson.hpp"
#include "sync/redisson/ttl_mode.hpp"

namespace holdfast::sync::redisson {

/// Where a script tells that a lock is free; empty: nowhere.
[[nodiscard]] inline std::string told_on(std::string_view name, engine::release_policy const& how) {
  return how.quiet ? std::string{} : names::redisson::lock_channel(name);
}

[[nodiscard]] call renew(engine::milliseconds ttl, std::span<engine::owned const> leases);
[[nodiscard]] call set_ttl(engine::milliseconds ttl, std::span<engine::owned const> leases);

}  // namespace holdfast::sync::redisson
