/// Permits on the plain wire, one or several to an owner, with leases or without.
#pragma once

#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/call.hpp"
#include "script/names.hpp"

namespace holdfast::recipes::plain {

/// acquire_request::amount: how many permits; acquire_request::size: how many there are, where nobody has
/// said so.
extern engine::recipe const permits;

/// The same permits without a lease: they stay taken until somebody gives them back
/// (scripts/permits/give_back).
extern engine::recipe const lasting_permits;

/// Keys of the permits of one name. `name` must outlive the making of the call.
struct permit_keys {
  explicit permit_keys(std::string_view name)
      : lock{name},
        counter{name, names::side_key::counter},
        queue{name, names::side_key::permit_queue},
        size{name, names::side_key::permits} {}
  key lock;
  key counter;
  key queue;
  key size;
};

}  // namespace holdfast::recipes::plain
