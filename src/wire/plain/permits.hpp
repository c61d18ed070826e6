/// Permits with leases on the plain wire, one or several to an owner.
#pragma once

#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "script/names.hpp"

namespace holdfast::recipes::plain {

/// acquire_request::amount: how many permits; acquire_request::size: how many there are, where nobody has
/// said so.
extern engine::recipe const permits;

/// Keys of the permits of one name. The strings must outlive the making of the call.
struct permit_keys {
  explicit permit_keys(std::string_view name)
      : lock{name},
        counter{names::token_counter(name)},
        queue{names::permit_queue(name)},
        size{names::permits(name)} {}
  std::string_view lock;
  std::string counter;
  std::string queue;
  std::string size;
};

}  // namespace holdfast::recipes::plain
