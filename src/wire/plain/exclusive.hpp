/// The exclusive lock on the plain wire.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/call.hpp"
#include "script/names.hpp"

namespace holdfast::recipes::plain {

extern engine::recipe const exclusive;

// Shared by all exclusive locks of this wire.

/// Keys of one lock. `name` must outlive the making of the call.
struct keys {
  explicit keys(std::string_view name)
      : lock{name}, counter{name, names::side_key::counter}, queue{name, names::side_key::queue} {}
  key lock;
  key counter;
  key queue;
};

/// Calls one of the scripts that end a hold or a wait.
template <class Script>
call give_back(engine::owned lease, engine::release_policy policy) {
  keys const k{lease.name};
  return Script{.lock = k.lock,
                .counter = k.counter,
                .queue = k.queue,
                .owner = lease.owner,
                .starvation_us = policy.starvation.count(),
                .grant_ms = policy.grant.count(),
                .publish = word_of(policy.publish)}();
}

/// The lock for an owner, if it is free; what the command `on_counter` makes of the token counter; and how
/// many of these other keys there are, if any are named.
transaction take_if_free(std::string_view name, std::string_view owner, engine::milliseconds ttl,
                         std::string_view on_counter, std::initializer_list<key> beside);
/// For the kinds whose order is strict: it says whether there is a queue, too.
transaction fast_acquire_in_order(std::string_view name, engine::acquire_request const& request);
call fast_release(engine::owned lease);
call release(engine::owned lease, engine::release_policy policy);
call release_unwanted(std::span<engine::owned const> leases);
call abandon(engine::owned lease, engine::release_policy policy);
call renew(engine::milliseconds ttl, std::span<engine::owned const> leases);

}  // namespace holdfast::recipes::plain
