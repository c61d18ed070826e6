/// Commands and their arguments, as the server reads them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::memory {

/// The words of one command, which are somebody else's.
using command = std::span<std::string_view const>;

/// The positions from `first` to `last` in a collection of `size` elements, as a half-open range. Negative
/// arguments count from the end.
inline std::pair<std::size_t, std::size_t> positions(std::int64_t first, std::int64_t last,
                                                     std::size_t size) {
  auto const count = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(0, count + first);
  if (last < 0) last = count + last;
  last = std::min(last, count - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

}  // namespace holdfast::memory
