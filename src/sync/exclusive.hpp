/// The exclusive lock on the plain wire.
#pragma once

#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/names.hpp"

namespace holdfast::sync {

extern engine::recipe const exclusive;

/// What all exclusive locks of this wire have in common.
namespace plain {

/// Keys of one lock. The strings must live as long as the call is being made.
struct keys {
  explicit keys(std::string_view name)
      : lock{name}, counter{names::token_counter(name)}, queue{names::queue(name)} {}
  std::string_view lock;
  std::string counter;
  std::string queue;
};

/// With one of the scripts that end a hold, or a wait.
template <class Script>
call give_back(engine::owned what, engine::release_policy how) {
  keys const k{what.name};
  return Script{.lock = {k.lock},
                .counter = {k.counter},
                .queue = {k.queue},
                .owner = what.owner,
                .starvation_us = how.starvation.count(),
                .grant_ms = how.grant.count(),
                .publish = word_of(how.publish)}();
}

call release(engine::owned what, engine::release_policy how);
call release_unwanted(std::span<engine::owned const> leases);
call abandon(engine::owned what, engine::release_policy how);
call renew(engine::milliseconds ttl, std::span<engine::owned const> leases);

}  // namespace plain

}  // namespace holdfast::sync
