/// Shared by the exclusive locks on Redisson's wire.
#pragma once

#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/names_redisson.hpp"
#include "wire/redisson/ttl_mode.hpp"

namespace holdfast::recipes::redisson {

/// The channel on which a script publishes that a lock is free; empty: none.
[[nodiscard]] inline std::string release_channel(std::string_view name,
                                                 engine::release_policy const& policy) {
  return policy.quiet ? std::string{} : names::redisson::lock_channel(name);
}

[[nodiscard]] call renew(engine::milliseconds ttl, std::span<engine::owned const> leases);
[[nodiscard]] call set_ttl(engine::milliseconds ttl, std::span<engine::owned const> leases);

}  // namespace holdfast::recipes::redisson
