/// Many keys in few requests, also in a cluster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/core.hpp"

namespace holdfast::inspection {

/// Calls `f` with the places of keys that share a hash slot, as the keys of a script have to, at most so many
/// at a time, until it returns false.
template <class F>
void for_each_slot_part(engine::core const& server, std::span<std::string const> const keys,
                        std::size_t const most, F const& f) {
  std::map<std::uint16_t, std::vector<std::size_t>> by_slot;
  for (std::size_t i = 0; i != keys.size(); ++i) by_slot[server.constants().slot_of(keys[i])].push_back(i);
  for (auto const& [slot, places] : by_slot) {
    for (std::span<std::size_t const> rest{places}; !rest.empty();) {
      auto const part = rest.first(std::min(rest.size(), most));
      rest = rest.subspan(part.size());
      if (!f(part)) return;
    }
  }
}

}  // namespace holdfast::inspection
