/// The channel of both kinds of semaphore, for their recipes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "script/names_redisson.hpp"

namespace holdfast::recipes::redisson {

[[nodiscard]] inline std::vector<std::string> semaphore_channels(std::string_view name, std::string_view) {
  return {names::redisson::semaphore_channel(name)};
}

}  // namespace holdfast::recipes::redisson
