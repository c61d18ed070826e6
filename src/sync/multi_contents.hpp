/// What a multi_mutex and its leases are about.
#pragma once

#include <holdfast/multi_mutex.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast {

/// Constant once it is shared.
struct multi_lease::contents {
  std::vector<std::string> names{};    ///< as they were given
  std::vector<std::size_t> part_of{};  ///< for each: the part that has it
};

}  // namespace holdfast
