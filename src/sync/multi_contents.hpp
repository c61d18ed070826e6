/// The names of a multi_mutex and of its leases.
#pragma once

#include <holdfast/multi_mutex.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast {

/// Constant once shared.
struct multi_lease::contents {
  std::vector<std::string> names{};    ///< in the order given
  std::vector<std::size_t> part_of{};  ///< for each name: the index of its part
};

}  // namespace holdfast
